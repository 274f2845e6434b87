"""What the columns of lines are, where nobody says it: the type that their values have, though not every single one.

A column has the type that all of its values fit, or at least 99 of 100 of those that were looked at; the others are
bad rows then, and somebody is to be told (`Misfit`). Where fewer fit, it is text, which all of them are. A query may
need more: a time, or a number to compare with. Then what most of the values are is taken (`Inferred.seeming`), since a
column of text could not be used at all.
"""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterable, Mapping

import pyarrow as pa
import pyarrow.compute as pc
from attrs import define, evolve, field, frozen

from eddy.sources.clocks import ZONED
from eddy.sources.isolating import isolated

_CLOCK = r"[T ]\d\d:\d\d(:\d\d(\.\d{1,9})?)?"
_DAY = r"\d{4}-\d\d-\d\d"
_ZONE = r"(Z|[+-]\d\d(:?\d\d)?)"
TIME = rf"^{_DAY}({_CLOCK}{_ZONE}?)?$"
LOCAL_TIME = rf"^{_DAY}({_CLOCK})?$"
ZONED_TIME = rf"^{_DAY}{_CLOCK}{_ZONE}$"
_NANOSECONDS = r"\.\d{6}\d*[1-9]"
WHOLE = r"^-?\d+$"
_NUMBER = r"^[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?$"
_TRUTH = r"^(?i:true|false)$"
MOST = 0.99
"""The part of the values that are to fit."""
PROBE = 500
"""Of so many values most must be what they look like, or none is."""
EXACT = 1 << 53
"""From here on float64 does not hold all whole numbers."""


@frozen
class Misfit:
    """A type that a column is taken to have, though some values do not fit it."""

    kind: pa.DataType
    misfits: int
    values: int
    example: str
    """The first value that does not fit."""
    local: int = 0
    """Values without a zone in a column that has one: they fit, but nobody has said that they should."""

    @property
    def few(self) -> bool:
        """Whether so few do not fit that the type is taken to be right."""
        return self.values - self.misfits - self.local >= MOST * self.values

    @property
    def likely(self) -> bool:
        """Whether more fit than not."""
        return 2 * (self.misfits + self.local) < self.values

    def __str__(self) -> str:
        told = []
        if self.misfits:
            do = "does" if self.misfits == 1 else "do"
            told.append(
                f"{self.misfits:,} of {self.values:,} values {do} not fit, such as {self.example!r}; such rows are bad "
                "rows, unless a schema gives another type"
            )
        if self.local:
            has, read = ("has", "is") if self.local == 1 else ("have", "are")
            told.append(f"{self.local:,} of {self.values:,} values {has} no zone, and {read} read as UTC")
        return f"{self.kind}, " + "; ".join(told)


@frozen
class Inferred:
    """The columns of a file, as far as its beginning tells."""

    schema: pa.Schema
    misfits: dict[str, Misfit] = field(factory=dict)
    """Columns that have values which do not fit."""
    seeming: dict[str, Misfit] = field(factory=dict)
    """Columns some of whose values are something else: what they are, where a query needs it."""
    open: frozenset[str] = frozenset()
    """Columns with nothing in them, which may be anything."""
    texts: bool = False
    """Whether all columns can be read as texts, too."""

    def without(self, names: Iterable[str]) -> Inferred:
        """The same of all other columns: somebody says what these are."""
        said = set(names)
        misfits, seeming = (
            {name: of for name, of in some.items() if name not in said}
            for some in (self.misfits, self.seeming)
        )
        schema = pa.schema([one for one in self.schema if one.name not in said])
        return evolve(self, schema=schema, misfits=misfits, seeming=seeming, open=self.open - said)


@define
class Columns:
    """Columns that are looked at one by one."""

    kinds: dict[str, pa.DataType]
    misfits: dict[str, Misfit] = field(factory=dict)
    seeming: dict[str, Misfit] = field(factory=dict)

    def texts(self, name: str, texts: pa.ChunkedArray, numbers: bool) -> None:
        """A column of texts, which most of may be something else; ``numbers``: also numbers."""
        found = _of_texts(texts, numbers)
        if found is not None and found.few:
            self._take(name, found)
        elif found is not None and found.misfits < found.values:
            self.seeming[name] = found

    def floats(self, name: str, texts: pa.ChunkedArray, text: bool) -> None:
        """A column of numbers, which may be whole ones but for a few. Those that float64 would round are no floats.

        Where whole numbers are too large for any type, it is a text, if ``text``.
        """
        values = pc.utf8_trim_whitespace(texts.drop_null())
        whole = values.filter(pc.match_substring_regex(values, WHOLE))
        if not len(whole):
            return
        found = _fits(values, WHOLE, pa.int64())
        if found.few and _rounded(whole):
            self._take(name, found)
        elif len(whole) < len(values):
            self.seeming[name] = found
        elif not _fits(values, WHOLE, pa.uint64()).misfits:
            self.kinds[name] = pa.uint64()
        elif text:
            self.kinds[name], self.seeming[name] = pa.string(), found
        elif found.likely:
            self._take(name, found)

    def inferred(self, texts: bool) -> Inferred:
        """All of them; ``texts``: they can be read as such, too."""
        nothing = frozenset(name for name, kind in self.kinds.items() if pa.types.is_null(kind))
        return Inferred(_usable(self.kinds), self.misfits, self.seeming, nothing, texts)

    def _take(self, name: str, found: Misfit) -> None:
        self.kinds[name] = found.kind
        if found.misfits or found.local:
            self.misfits[name] = found


def schema_of(name: str, found: Inferred) -> pa.Schema:
    """The columns of a source that keeps nothing but these; of values that do not fit it is warned here."""
    for column, misfit in found.misfits.items():
        warnings.warn(f"{name}, column {column}: {misfit}", stacklevel=2)
    return found.schema


def with_units(table: pa.Table) -> pa.Table:
    """Whoever sees a fraction of a second takes it for nanoseconds: microseconds, where no more digits are used."""
    for place, one in enumerate(table.schema):
        if pa.types.is_timestamp(one.type) and one.type.unit == "ns":
            kind = pa.timestamp("us", one.type.tz)
            with contextlib.suppress(pa.ArrowInvalid):
                table = table.set_column(place, one.name, table.column(place).cast(kind))
    return table


def _of_texts(texts: pa.ChunkedArray, numbers: bool) -> Misfit | None:
    """What most of these texts are; None if they look like nothing but texts."""
    values = pc.utf8_trim_whitespace(texts.drop_null())
    if not len(values):
        return None
    tests = _times(values)
    if numbers:
        tests = [(WHOLE, pa.int64()), (_NUMBER, pa.float64()), (_TRUTH, pa.bool_()), *tests]
    found = (_fits(values, pattern, kind) for pattern, kind in tests)
    best = min(found, key=lambda one: one.misfits, default=None)
    if best is None or getattr(best.kind, "tz", None) is None:
        return best
    others = values.filter(pc.invert(pc.match_substring_regex(values, ZONED_TIME)))
    if not len(others):
        return best
    local = _fits(
        others, LOCAL_TIME, pa.timestamp(best.kind.unit)
    )  # they are read on the clock of the column
    fit = len(others) - local.misfits
    return evolve(best, misfits=best.misfits - fit, local=fit, example=local.example or best.example)


def _times(values: pa.ChunkedArray) -> list[tuple[str, pa.DataType]]:
    """Types of times that values may be: with a zone, or without; in microseconds where these are enough."""
    times = values.filter(pc.match_substring_regex(values, TIME))
    zoned = pc.match_substring_regex(times, ZONED)
    return [
        (
            pattern,
            pa.timestamp(
                "ns" if pc.any(pc.match_substring_regex(some, _NANOSECONDS)).as_py() else "us", zone
            ),
        )
        for pattern, zone, some in (
            (LOCAL_TIME, None, times.filter(pc.invert(zoned))),
            (ZONED_TIME, "UTC", times.filter(zoned)),
        )
        if len(some)
    ]


def _fits(values: pa.ChunkedArray, pattern: str, kind: pa.DataType) -> Misfit:
    """How many of the values are such that look like this and become values of a type."""
    looks = pc.match_substring_regex(values, pattern)
    some = values.filter(looks)
    others = values.filter(pc.invert(looks))
    misfits, example = len(others), others[0].as_py() if len(others) else ""

    def cast(start: int, stop: int) -> int | Exception:
        try:
            some.slice(start, stop - start).cast(kind)
        except pa.ArrowInvalid as error:
            return error
        return 0

    if isinstance(cast(0, len(some)), Exception):
        _, wrong = isolated(cast, 0, min(len(some), PROBE))
        if 2 * len(wrong) < PROBE:
            _, rest = isolated(cast, min(len(some), PROBE), len(some))
            misfits += len(wrong) + len(rest)
            wrong += rest
        else:  # to try them one by one would take long, and the column is not of this type anyway
            misfits += len(some)
        example = example or some[wrong[0][0]].as_py()
    return Misfit(kind, misfits, len(values), example)


def _rounded(whole: pa.ChunkedArray) -> bool:
    """Whether float64 would round some of these whole numbers."""
    long = whole.filter(pc.greater(pc.utf8_length(whole), 15))
    return any(abs(int(text)) > EXACT for text in long.to_pylist())


def _usable(kinds: Mapping[str, pa.DataType]) -> pa.Schema:
    """The types that were inferred: a column with nothing in it may be anything, and is text; a date is a timestamp."""
    fields = []
    for name, kind in kinds.items():
        if pa.types.is_null(kind) or pa.types.is_time(kind) or pa.types.is_binary(kind):
            kind = pa.string()
        elif pa.types.is_date(kind):
            kind = pa.timestamp("s")
        elif pa.types.is_timestamp(kind) and kind.unit != "ns":
            kind = pa.timestamp("us", kind.tz)
        fields.append(pa.field(name, kind))
    return pa.schema(fields)

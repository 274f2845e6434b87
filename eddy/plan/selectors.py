"""Who takes a way, where the rows of one stream take several.

Without a selector it is a range of the rows of a batch, by the weights: ``A 3: B C | A 1: C B``. With one every row has
a number, and a way takes the rows whose numbers are in its share: by chance (`Drawn`), or by the value of a key column
(`ByValue`). A row has the same number in all batches, however they are cut, so each row takes exactly one way.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

from attrs import frozen

from eddy.errors import PlanError

Columns = Mapping[str, Collection[str]]
"""The key columns of each stream."""


@frozen
class Drawn:
    """Each row is drawn for: its number is a hash of its row number and the ``seed``."""

    seed: int = 0

    def heads(self, name: str, weights: list[int]) -> list[str]:
        """What is written before the colon of each way."""
        seed = f" {self.seed}" if self.seed else ""
        return [f"{name} {weight} drawn{seed}" for weight in weights]


@frozen
class ByValue:
    """A row goes where the value of a key column says: its number is that of the way."""

    column: str
    values: tuple[tuple[int, ...], ...]
    """For each way but the last the keys of the rows that take it, ascending; the last one is for all others."""

    def heads(self, name: str, weights: list[int]) -> list[str]:
        """What is written before the colon of each way."""
        sets = [f"{name} {self.column} in ({', '.join(map(str, some))})" for some in self.values]
        return [*sets, name]


Selector = Drawn | ByValue

_DRAWN = re.compile(r"(\d+)\s+drawn(?:\s+(\d+))?")
_VALUES = re.compile(r"(\S+)\s+in\s*\(([^()]*)\)")

MOST = 4096
"""Values that a plan may name for one stream."""


@frozen
class Head:
    """What is written before the colon of an ordering."""

    name: str
    weight: int | None = None
    seed: int | None = None
    """Of a way that rows are drawn for."""
    column: str | None = None
    """Of a way for some values: the column, and these."""
    values: tuple[int, ...] = ()

    @property
    def kind(self) -> str:
        """By what a row is chosen for it; "" where nothing is said."""
        if self.column is not None:
            return "values"
        return "" if self.weight is None else "weights" if self.seed is None else "draws"


def read_head(head: str, text: str) -> Head | None:
    """Read the head of an ordering in the plan ``text``; None if it is none."""
    name, rest = [*head.split(None, 1), "", ""][:2]
    rest = rest.strip()
    if not rest:
        return Head(name) if name else None
    if drawn := _DRAWN.fullmatch(rest):
        return Head(name, _weight(drawn[1], text), _whole(drawn[2] or "0", text, 64))
    if some := _VALUES.fullmatch(rest):
        return Head(name, column=some[1], values=_values(some[2], text))
    return None if len(rest.split()) > 1 else Head(name, _weight(rest, text))


def check_column(head: Head, text: str, columns: Columns | None) -> None:
    """Refuse a way for values of a column that is no key: rows have only keys at hand when they set out."""
    if head.column is None or columns is None or head.column in columns[head.name]:
        return
    known = ", ".join(columns[head.name]) or "none"
    raise PlanError(
        f"in plan {text!r}, rows of {head.name} are to be split by {head.column!r}, which is no key column of it that "
        f"joins it with others: it has {known}"
    )


def selector_of(heads: list[Head], text: str) -> Selector | None:
    """How the rows of a stream are split among ways with these heads; None: by ranges, or there is one way."""
    name, kinds = heads[0].name, [head.kind for head in heads]
    if kinds[-1] == "" and len(kinds) > 1 and set(kinds[:-1]) == {"values"}:
        return _by_value(heads, text)
    if "values" in kinds:
        raise PlanError(
            f"in plan {text!r}, some rows of {name} have no way to go, or two: write '{name} x in (1, 2): ...' for "
            f"some values of one column, and then '{name}: ...' for all others"
        )
    if len(heads) > 1 and "" in kinds:
        raise PlanError(
            f"plan {text!r} has two orderings for stream {name}: give each stream one, or each a weight, as "
            f"in '{name} 3: ... | {name} 1: ...'"
        )
    if "draws" not in kinds:
        return None
    seeds = {head.seed for head in heads}
    if len(seeds) > 1:
        raise PlanError(
            f"in plan {text!r}, the ways of {name} are drawn for differently: write 'drawn', with the same seed, after "
            f"each weight, as in '{name} 3 drawn: ... | {name} 1 drawn: ...'"
        )
    return Drawn(next(iter(seeds)) or 0)


def _by_value(heads: list[Head], text: str) -> ByValue:
    name, column = heads[0].name, heads[0].column
    assert column is not None
    if any(head.column != column for head in heads[:-1]):
        raise PlanError(f"in plan {text!r}, rows of {name} are split by several columns: name one")
    every = [value for head in heads for value in head.values]
    if len(set(every)) < len(every):
        twice = next(value for value in every if every.count(value) > 1)
        raise PlanError(f"in plan {text!r}, rows of {name} with {column} {twice} have two ways to go")
    if len(every) > MOST:
        raise PlanError(
            f"plan {text[:60]!r}... names {len(every):,} values for {name}: {MOST:,} are the most"
        )
    return ByValue(column, tuple(head.values for head in heads[:-1]))


def _values(inside: str, text: str) -> tuple[int, ...]:
    tokens = [token.strip() for token in inside.split(",")]
    if not all(re.fullmatch(r"-?\d+", token) for token in tokens):
        raise PlanError(
            f"in plan {text!r}, '({inside})' is no list of keys: they are whole numbers with commas between them"
        )
    found = sorted({int(token) for token in tokens})
    if found[0] < -(1 << 63) or found[-1] >= 1 << 63:
        raise PlanError(f"in plan {text!r}, '({inside})' has a number of more than 64 bits")
    return tuple(found)


def _weight(token: str, text: str) -> int:
    if not token.isdecimal() or not 0 < int(token) < 1 << 31:
        raise PlanError(f"in plan {text!r}, {token!r} is not a weight: it is a whole number above 0")
    return int(token)


def _whole(token: str, text: str, bits: int) -> int:
    if int(token) >= 1 << (bits - 1):
        raise PlanError(f"in plan {text!r}, the seed {token} has more than {bits - 1} bits")
    return int(token)

"""Several queries over the same rows: one way to deal these out in which each query is exact.

Each row goes to one cell, by the value of one column of its stream, and none is left out: so a query is exact if it has
a key that joins all of its streams, in just these columns, and depends on no row beyond.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from attrs import evolve, frozen

from eddy.errors import EddyError
from eddy.partition.attached import shared_keys
from eddy.partition.marks import counted
from eddy.query.attachment import LeftJoin
from eddy.query.query import Query
from eddy.query.stream import Stream
from eddy.query.windows import Unbounded

Columns = dict[str, str]
"""For each stream the column by which its rows are dealt out."""


@frozen
class Fit:
    """How a query may be dealt out."""

    name: str
    choices: tuple[Columns, ...]
    """Any of these; one that names no column if it is exact however rows are dealt out."""
    why: str
    """What it is that cannot be otherwise, in words."""


def dealing(queries: Mapping[str, Query], streams: Mapping[str, Stream], single: bool) -> Query:
    """A query over all ``streams`` that is dealt out as all of these can be; ``single``: all rows go to one cell.

    EddyError names the query that does not fit.
    """
    bare = {name: evolve(stream, window=Unbounded()) for name, stream in streams.items()}
    if single or len(bare) == 1:
        if not single:
            for name, query in queries.items():
                fit = fit_of(name, query)
                if not fit.choices:
                    raise EddyError(f"query {name} cannot be dealt out with others: {fit.why}; {ADVICE}")
        return Query(bare, cross=len(bare) > 1)
    columns = columns_of(queries, bare)
    first, *others = bare
    return Query(
        bare,
        attach=[LeftJoin(other, f"{_said(first, columns)} = {_said(other, columns)}") for other in others],
    )


ADVICE = "join it apart, or give kind='single', and all rows go to one partition"


def _said(stream: str, columns: Columns) -> str:
    return f'"{stream}"."{columns[stream]}"'


def columns_of(queries: Mapping[str, Query], streams: Mapping[str, Stream]) -> Columns:
    """The column of each stream; EddyError names the query that does not fit the others."""
    fits = [fit_of(name, query) for name, query in queries.items()]
    for fit in fits:
        if not fit.choices:
            raise EddyError(f"query {fit.name} cannot be dealt out with others: {fit.why}; {ADVICE}")
    chosen = _together(sorted(fits, key=lambda fit: len(fit.choices)), {})
    if chosen is None:
        odd = _odd(fits)
        raise EddyError(
            f"query {odd.name} does not fit those before it: {odd.why}, and they have no such key; {ADVICE}"
        )
    for name, stream in streams.items():
        if name not in chosen:
            chosen[name] = _any_column(name, stream, chosen, streams)
    kinds = {streams[name].columns[column].kind for name, column in chosen.items()}
    if len(kinds) > 1:
        raise EddyError(
            f"rows cannot be dealt out by {', '.join(f'{s}.{c}' for s, c in chosen.items())}: these are of kinds that "
            f"cannot be compared; {ADVICE}"
        )
    return {name: chosen[name] for name in streams}


def fit_of(name: str, query: Query) -> Fit:
    """How one of several queries may be dealt out."""
    if query.signed:
        what = "an aggregate" if query.grouped else "a difference" if query.minus else "EMIT CHANGES"
        return Fit(name, (), f"a result of {what} can depend on any row")
    if counted(query):
        return Fit(name, (), f"the window of {counted(query)[0]} counts the rows of all partitions")
    static = [stream for stream, declared in query.streams.items() if declared.static]
    if static:
        return Fit(name, (), f"stream {static[0]} is static, and is not dealt out")
    if len(query.names) == 1:
        return Fit(name, ({},), "")
    choices = tuple(dict(key.members) for key in shared_keys(query))
    if not choices:
        return Fit(name, (), f"there is no key that joins {', '.join(query.names)}")
    told = " or ".join(" = ".join(f"{s}.{c}" for s, c in one.items()) for one in choices)
    return Fit(name, choices, f"it is joined by {told}")


def _together(fits: Sequence[Fit], chosen: Columns) -> Columns | None:
    """Columns that agree with those ``chosen`` and are a choice of each."""
    if not fits:
        return chosen
    for choice in fits[0].choices:
        if all(chosen.get(stream, column) == column for stream, column in choice.items()):
            found = _together(fits[1:], {**chosen, **choice})
            if found is not None:
                return found
    return None


def _odd(fits: Sequence[Fit]) -> Fit:
    """The first that does not fit all before it."""
    return next(fit for i, fit in enumerate(fits) if _together(fits[: i + 1], {}) is None)


def _any_column(name: str, stream: Stream, chosen: Columns, streams: Mapping[str, Stream]) -> str:
    """A column of a stream that is not joined, of the kind of the keys; its rows may go anywhere."""
    kinds = {streams[other].columns[column].kind for other, column in chosen.items()}
    for column, kind in _usable(stream):
        if not kinds or kind in kinds:
            return column
    raise EddyError(f"stream {name} has no column of the kind of the keys to deal its rows out by; {ADVICE}")


def _usable(stream: Stream) -> Iterator[tuple[str, str]]:
    """Columns that are read, the time last."""
    for column, kind in sorted(stream.columns.items(), key=lambda one: one[0] == stream.time):
        if kind.is_comparable:
            yield column, kind.kind

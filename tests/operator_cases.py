"""Cases of signed results: joins with withdrawals, set differences, and aggregates over both.

A case of `tests/cases.py` with operators on top. What each event changes comes from the oracle (`naive.signed` and
`naive.aggregates`); `tests/operator_checks.py` runs a case and compares, `tests/operator_strategies.py` draws them.
"""

from __future__ import annotations

import itertools

from attrs import field, frozen

import eddy
from tests import naive
from tests.cases import Case, bracket, inner, predicate, selected, step_events, window
from tests.inside import engine_from
from tests.kinds import pythonic
from tests.own_aggregates import OWN, OWN_FUNCTIONS


@frozen
class OperatorCase(Case):
    """A case whose results have signs.

    ``minus``: ``(stream, ((base column, inner column), ...))`` for each subtracted stream, as the oracle takes it.
    ``group_by``: columns as "A.x". ``aggregates``: ``(name, function, "A.x")``, where COUNT(*) has None and a function
    of several arguments "A.x, B.y".
    More kinds of steps: ``("settle",)``, and ``("restart", options)``, which go before the case's own.
    """

    minus: tuple = ()
    retractions: bool = False
    group_by: tuple = ()
    aggregates: tuple = ()
    answer: list | None = field(default=None, eq=False, repr=False)
    """What `expected` says of it, where that is known already; to be dropped when a case is made of this one."""

    @property
    def base(self):
        """The stream that the others are subtracted from, or None."""
        inner = {stream for stream, _ in self.minus}
        return next(name for name in self.streams if name not in inner) if self.minus else None


ONE_OF_THE_VALUES = ("MIN", "MAX", "QUANTILE_DISC", "FIRST", "LAST")
"""Aggregates that show a value as it came."""


# How a case is told to the library


def column_of(item):
    """The oracle's reference to "A.x"."""
    return ("col", *item.split("."))


def columns_of(item):
    """The oracle's references to the columns of an aggregate."""
    return [column_of(column) for column in item.split(", ")] if item else []


def call(function, item):
    """An aggregate as SQL."""
    if function in naive.SHARES:
        return f"{function}({item}, {naive.SHARES[function]})"
    return f"{function}({item or '*'})"


def computed(function, item):
    """An aggregate as `eddy.Query` takes it: SQL, or the user's own."""
    if function in OWN_FUNCTIONS:
        return OWN_FUNCTIONS[function].of(item)
    return OWN[function](*item.split(", ")) if function in OWN else call(function, item)


def condition(case, stream, pairs):
    """The condition by which a stream is subtracted."""
    return " AND ".join(f"{case.base}.{ours} = {stream}.{theirs}" for ours, theirs in pairs)


def shown(case):
    """The columns of a result."""
    if case.aggregates:
        return [*case.group_by, *(name for name, _, _ in case.aggregates)]
    if case.minus and case.select is None:
        return [f"{case.base}.{column}" for column in case.streams[case.base].columns]
    return selected(case)


def make_query(case):
    """The case's query, made in Python or through SQL."""
    if case.door == "sql":
        return through_sql(case)
    streams = {
        name: eddy.Stream(stream.columns, window=window(stream), time=stream.time)
        for name, stream in case.streams.items()
    }
    options = {"select": case.select, "cross": case.cross}
    if case.minus:
        minus = {stream: condition(case, stream, pairs) for stream, pairs in case.minus}
        options = {"select": case.select, "minus": minus}
    if case.aggregates:
        aggregates = {name: computed(function, item) for name, function, item in case.aggregates}
        options |= {"select": None, "group_by": list(case.group_by) or None, "aggregates": aggregates}
    return eddy.Query(streams, where=[predicate(tree) for tree in case.where], **options)


def through_sql(case):
    """The case's query as SQL; a difference declares its base first."""
    schemas = {name: eddy.Stream(stream.columns, time=stream.time) for name, stream in case.streams.items()}
    windowed = {name: f"{name} {bracket(stream)}" for name, stream in case.streams.items()}
    sources = ", ".join(windowed.values())
    if case.minus:
        parts = [
            f" EXCEPT {windowed[stream]} ON {condition(case, stream, pairs)}" for stream, pairs in case.minus
        ]
        sources = windowed[case.base] + "".join(parts)
    where = f" WHERE {' AND '.join(map(inner, case.where))}" if case.where else ""
    if not case.aggregates:
        chosen = ", ".join(f'{item} AS "{item}"' for item in shown(case))
        return eddy.sql(f"SELECT {chosen} FROM {sources}{where}", schemas)
    chosen = [f'{item} AS "{item}"' for item in case.group_by]
    chosen += [f"{call(function, item)} AS {name}" for name, function, item in case.aggregates]
    grouped = f" GROUP BY {', '.join(case.group_by)}" if case.group_by else ""
    return eddy.sql(
        f"SELECT {', '.join(chosen)} FROM {sources}{where}{grouped}",
        schemas,
        aggregates=[*OWN.values(), *OWN_FUNCTIONS.values()],
    )


def make_engine(case, **options):
    """An engine for the case; ``options`` go before the case's own."""
    own = {
        "plan": case.plan,
        "batch_size": case.batch_size,
        "joins": case.joins,
        "migration": case.technique,
        "retractions": case.retractions,
    }
    return engine_from(case.first_row, make_query(case), **{**own, **options})


# What the oracle sees


OF_A_KIND = (*ONE_OF_THE_VALUES, "SUM")
"""Aggregates whose values are of the type of what they are of, where that is no number."""


def kind_of(case, item):
    """The type of a column, of which the oracle may have whole numbers."""
    stream, column = item.split(".")
    return case.streams[stream].columns[column]


def changelog(case, events, limit=None):
    """For each event its changes, (sign, row): row numbers of all streams, or the values of a group."""
    if case.aggregates:
        outputs = [(function, *columns_of(item)) for _, function, item in case.aggregates]
        groups = [column_of(item) for item in case.group_by]
        found = naive.aggregates(case.streams, case.where, events, outputs, groups, case.minus, limit)
        kinds = [kind_of(case, item) for item in case.group_by]
        kinds += [kind_of(case, item) if f in OF_A_KIND else "int64" for _, f, item in case.aggregates]
        return [[(sign, tuple(map(pythonic, row, kinds))) for sign, row in event] for event in found]
    found = naive.signed(case.streams, case.where, events, case.minus, limit)
    if not case.minus:
        return found
    place = list(case.streams).index(case.base)
    blank = (-1,) * len(case.streams)
    return [[(sign, (*blank[:place], row, *blank[place + 1 :])) for sign, (row,) in event] for event in found]


def expected(case, limit=None):
    """For each step the changes of each of its events; shorter than the steps where `limit` was reached."""
    parts = [step_events(case, step) for step in case.steps]
    answers = iter(changelog(case, list(itertools.chain(*parts)), limit))
    found = []
    for part in parts:
        changes = [next(answers, None) for _ in part]
        if None in changes:
            break
        found.append(changes)
    return found


def empty_table(case):
    """The rows of the table before the first event."""
    if case.group_by:
        return []
    return [tuple(0 if function == "COUNT" else None for _, function, _ in case.aggregates)]

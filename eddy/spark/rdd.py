"""`driver`: the function to give to `RDD.mapPartitions`."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import attrs
import pyarrow as pa

from eddy.engine.eddy import Eddy
from eddy.errors import BatchError, EddyError, OrderError
from eddy.partition.marks import counted
from eddy.query.query import Query
from eddy.results.result import Result
from eddy.spark.bounded import check_options
from eddy.spark.internals import active_context
from eddy.spark.report import Stopwatch, Tally, report_of, sent_back
from eddy.spark.ship import pickled, sent, ship
from eddy.values.types import Values

TABLES = (pa.Table, pa.RecordBatch)


def driver(
    query: Query, *, tally: Tally | None = None, **policies: object
) -> Callable[[Iterable[object]], Iterator[object]]:
    """A function that joins the items of a partition: ``rdd.mapPartitions(eddy.spark.driver(query))``.

    Items are pairs of a stream's name and a row - a `pyspark.sql.Row`, a tuple in the order of the declared columns, or
    a dict - or a pyarrow table or record batch. Results come in kind: rows, dicts or record batches. Each partition is
    a join of its own: bring together what belongs together, in order of time, before. Rows are gathered into batches
    and pushed like `Eddy.push_all`, merged by time, if windows end by time; else, and in as-of joins, in the order in
    which they come.

    ``policies`` are the options of `Eddy`. With ``lateness`` the items of a partition may be out of order, so far; late
    ones are an error, or with ``late="drop"`` dropped. At the end of a partition its engine is closed: rows that wait
    are processed, and what outer and anti joins owe is given. ``tally`` is an accumulator of lists for the report of
    each partition.
    """

    check_options(query, policies)
    _check_disorder(policies)
    context = active_context()
    archive = None if context is None else ship(context)
    return sent(pickled(Partition(query, policies)), archive, tally)


@attrs.frozen
class Partition:
    """The join of one partition of an RDD."""

    query: Query
    options: dict[str, Any]

    def run(self, items: Iterable[object], tally: Tally | None) -> Iterator[object]:
        """Results of the items, in kind."""
        engine = Eddy(self.query, **self.options)
        counts = dict.fromkeys(self.query.names, 0)
        watch = Stopwatch()
        near = any(one.nearest is not None for one in self.query.attachments)
        merged = self.query.timed and not counted(self.query) and not near
        signed = self.query.signed
        last: Callable[[Result, bool], Iterable[object]] = _as_rows
        for batches, give in self._gathered(watch.drawn(items), engine.batch_size, merged):
            with watch.working():
                for name, batch in batches.items():
                    counts[name] = counts.get(name, 0) + _length(batch)
                results = list(give(_pushed(engine, batches), signed))
            yield from results
            last = give
        statistics, owed = engine.statistics(), 0
        if self.query.attachments or self.options.get("lateness") is not None:
            with watch.working():
                closing = engine.close()
                results = list(last(closing, signed))
            yield from results
            owed = len(closing)
        number = 0
        if tally is not None:
            from pyspark import TaskContext

            context = TaskContext.get()
            number = 0 if context is None else context.partitionId()
        sent_back(tally, report_of(number, counts, statistics, watch, results=statistics.results + owed))

    def _gathered(
        self, items: Iterable[object], size: int, merged: bool
    ) -> Iterator[tuple[dict[str, Any], Callable[[Result, bool], Iterable[object]]]]:
        """Batches to push, and how their results are given."""
        for kind, run in itertools.groupby(map(_checked, items), _kind):
            if kind is None:
                for name, table in run:
                    yield {name: table}, _as_tables
                continue
            give = _as_dicts if kind else _as_rows
            while chunk := list(itertools.islice(run, size)):
                if merged:
                    yield self._columns(chunk), give
                else:
                    for _, same in itertools.groupby(chunk, lambda item: item[0]):
                        yield self._columns(list(same)), give

    def _columns(self, chunk: list[tuple[str, object]]) -> dict[str, Any]:
        """Rows of several streams as columns."""
        rows: dict[str, list[Any]] = {}
        for name, row in chunk:
            rows.setdefault(name, []).append(row)
        return {name: self._table(name, some) for name, some in rows.items()}

    def _table(self, name: str, rows: list[Any]) -> dict[str, Any]:
        if name not in self.query.streams:
            raise BatchError(f"the query has no stream {name!r}: it has {', '.join(self.query.names)}")
        columns = self.query.streams[name].columns
        try:
            if isinstance(rows[0], Mapping) or hasattr(rows[0], "__fields__"):
                return {column: [row[column] for row in rows] for column in columns}
            return dict(zip(columns, map(list, zip(*rows, strict=True)), strict=True))
        except (KeyError, ValueError) as error:
            raise BatchError(
                f"stream {name}: a row has not exactly the columns {', '.join(columns)} ({error})"
            ) from error


def _check_disorder(policies: Mapping[str, object]) -> None:
    """EddyError for late rows that nobody could ask for, and for results that depend on a clock."""
    if policies.get("late") == "keep":
        raise EddyError(
            'late="keep" is for engine.late(), which nobody can call in a partition: give late="drop", or leave it out'
        )
    for option in ("idle", "clock"):
        if policies.get(option) is not None:
            raise EddyError(f"a partition is not read as time goes by: leave {option} out")


def _pushed(engine: Eddy, batches: dict[str, object]) -> Result:
    try:
        return engine.push_all(batches)
    except OrderError as error:
        raise BatchError(
            f"{error.args[0]}: the items of a partition must be in order of time, those of all streams together; sort "
            "them before mapPartitions, with repartitionAndSortWithinPartitions for example"
        ) from error


def _checked(item: object) -> tuple[str, Any]:
    if not isinstance(item, tuple) or len(item) != 2 or not isinstance(item[0], str):
        raise BatchError(f"a partition needs pairs of a stream's name and a row or table, not {item!r}")
    return item


def _kind(item: tuple[str, object]) -> bool | None:
    """None for tables; else whether the row is a dict."""
    return None if isinstance(item[1], TABLES) else isinstance(item[1], Mapping)


def _length(batch: pa.Table | pa.RecordBatch | Mapping[str, Values]) -> int:
    return int(batch.num_rows) if isinstance(batch, TABLES) else len(next(iter(batch.values())))


def _as_tables(result: Result, signed: bool) -> Iterable[pa.RecordBatch]:
    return result.to_arrow(signed).to_batches() if len(result) else ()


def _as_dicts(result: Result, signed: bool) -> Iterable[dict[str, object]]:
    rows: list[dict[str, object]] = result.to_arrow(signed).to_pylist() if len(result) else []
    return rows


def _as_rows(result: Result, signed: bool) -> Iterable[object]:
    from pyspark.sql import Row

    if not len(result):
        return
    columns = result.to_pydict(signed)
    make = Row(*columns)
    for values in zip(*columns.values(), strict=True):
        yield make(*values)

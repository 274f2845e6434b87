"""Nexmark beside DuckDB and a plain Python program: `python -m benchmarks.nexmark [--write] [--only words] [--quick]`.

Queries 1 to 9, 20 and 22, over events like those of the benchmark's generator: of 50, 1 person, 3 auctions and 46 bids.
An engine takes the events in pushes, in order of time, and has its results after each; DuckDB computes them once, over
tables that have all events; the Python program goes through a list of them. All must find the same. Times are the
processor's, of one thread, the best of some rounds in turns.
"""

from __future__ import annotations

import decimal
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from benchmarks.goals import ENGINE, Line
from benchmarks.nexmark_queries import HOP, PANE, QUERIES, Query
from benchmarks.peers.nexmark import tables
from benchmarks.report import Report, command
from eddy import Eddy, sql

RESULTS = Path(__file__).with_name("results_nexmark.json")
EVENTS, PUSH, ROUNDS = 500_000, 10_000, 3
HOPS = pa.table({"hop": np.arange(PANE // HOP)})


def rows_of(events: int, seed: int = 0) -> dict[str, pa.Table]:
    """All streams, with the time at which an auction ends, and the URL of a bid."""
    made, random = tables(events, seed), np.random.default_rng(seed + 1)
    auction, bid = made["auction"], made["bid"]
    expires = auction["ts"].to_numpy() + random.integers(1_000, 20_000, len(auction))
    parts = random.choice(["_abo", "_gbk", "item", "x"], (3, len(bid)))
    url = np.char.add(
        "https://www.nexmark.com/", np.char.add(np.char.add(parts[0], "/"), np.char.add(parts[1], "/"))
    )
    url = np.char.add(np.char.add(url, parts[2]), "/item.htm?query=1")
    return made | {
        "auction": auction.append_column("expires", pa.array(expires)),
        "bid": bid.append_column("url", pa.array(url)),
    }


def pushes(query: Query, made: dict[str, pa.Table], events: int) -> list[dict[str, pa.Table]]:
    """The rows of the query's streams, cut at the same times."""
    found = []
    for start in range(0, events, PUSH):
        batch = {}
        for name in query.streams:
            low, high = np.searchsorted(made[name]["ts"].to_numpy(), (start, start + PUSH))
            batch[name] = made[name].slice(low, high - low)
        found.append(batch)
    return found


def by_eddy(query: Query, made: dict[str, pa.Table], events: int) -> Callable[[], Iterable[tuple[Any, ...]]]:
    """An engine that takes the rows in pushes: its results, or the groups as they are in the end."""
    schemas = {name: table.schema for name, table in [*made.items(), ("hops", HOPS)]}
    parsed, chunks = sql(query.eddy, schemas), pushes(query, made, events)
    engine = Eddy(parsed)
    if "hops" in parsed.streams:
        engine.push("hops", HOPS)

    def run() -> Iterable[tuple[Any, ...]]:
        results = [engine.push_all(chunk) for chunk in chunks]
        if parsed.grouped and not query.changes:
            return _Rows(engine.table().to_arrow())
        whole = pa.concat_tables([result.to_arrow(sign=query.changes) for result in results])
        if query.changes:
            whole = whole.filter(pc.greater(whole["sign"], 0)).drop_columns(["sign"])
        return _Rows(whole)

    return run


def by_duckdb(query: Query, made: dict[str, pa.Table]) -> Callable[[], Iterable[tuple[Any, ...]]]:
    """One statement over tables that have all rows."""
    connection = duckdb.connect(config={"threads": 1})
    for name, table in [*made.items(), ("hops", HOPS)]:
        connection.register("arrow", table)
        connection.execute(f"CREATE TABLE {name} AS FROM arrow")
    return lambda: _Rows(connection.sql(query.duckdb).to_arrow_table())


def by_python(query: Query, made: dict[str, pa.Table]) -> Callable[[], Iterable[tuple[Any, ...]]]:
    """A program that goes through a list of all events."""
    events = [(name, row) for name in query.streams for row in made[name].to_pylist()]
    events.sort(key=lambda event: event[1]["ts"])
    return lambda: query.python(events)


class _Rows:
    """The rows of a table, made when they are compared."""

    def __init__(self, table: pa.Table) -> None:
        self._table = table

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        return zip(*(column.to_pylist() for column in self._table.columns), strict=True)


def measure(query: Query, made: dict[str, pa.Table], events: int, rounds: int) -> dict[str, float]:
    """Events a second of each side, in millions; AssertionError where they find different rows."""
    rows = sum(len(made[name]) for name in query.streams)
    best: dict[str, float] = {}
    found: dict[str, Counter[tuple[Any, ...]]] = {}
    for turn in range(rounds):
        sides = {
            "Eddy": by_eddy(query, made, events),
            "DuckDB": by_duckdb(query, made),
            "Python": by_python(query, made),
        }
        for name, run in sides.items():
            start = time.process_time()
            results = run()
            seconds = time.process_time() - start
            best[name] = min(best.get(name, seconds), seconds)
            if not turn:
                found[name] = Counter(tuple(map(_plain, row)) for row in results)
    assert found["Eddy"] == found["DuckDB"] == found["Python"], f"query {query.number}: they differ"
    assert found["Eddy"], f"query {query.number} finds nothing"
    return {name: rows / seconds / 1e6 for name, seconds in best.items()}


def _plain(value: object) -> object:
    """Numbers as all sides give them."""
    return f"{float(value):.12g}" if isinstance(value, (int, float, decimal.Decimal)) else value


def one(query: Query) -> Callable[[Report], None]:
    """What measures a query."""

    def measured(report: Report) -> None:
        events = EVENTS // 20 if report.quick else EVENTS
        report.tell(f"query {query.number}")
        rates = measure(query, rows_of(events), events, 1 if report.quick else ROUNDS)
        others = ", ".join(f"{name} {rates[name]:.3g}" for name in ("DuckDB", "Python"))
        note = "; ".join([others, *([query.short] if query.short else [])])
        report.lines.append(Line(f"query {query.number}", rates["Eddy"], "million events/s", None, note=note))

    return measured


GROUPS = {f"query {query.number}": one(query) for query in QUERIES}
MEASURES = (*ENGINE, "eddy/aggregate", "eddy/query")

if __name__ == "__main__":
    sys.exit(command("benchmarks.nexmark", __doc__, GROUPS, RESULTS, MEASURES))

"""Several queries in one engine beside an engine for each: `python -m benchmarks.several [--quick] [--only WORDS]`.

Both take the same pushes in turns, by the processor time of their thread (`benchmarks.ratio`), and all results are read
as Arrow tables: of the engine of several in one table, of the others one by one. Streams A to D come in turns, with
10,000 keys and windows of 10,000 rows each, so about one partner a row in each. Cases:

- *five*: five alerts over one join of three streams, each with a filter that lets two rows of a hundred through;
- *five views*: five queries over that join without filters, which show different things;
- *hundred*: a hundred queries over one join of four streams, each with two filters, of a tenth and of a half;
- *thousand*: a thousand over that join that differ in a constant, beside one of them without the filter;
- *twenty*: twenty that share no join: their windows differ;
- *one*: a single query, in an engine of several and in one of its own.

Then how long `add` takes where windows hold 100,000 rows, and the longest push after it against the median before.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import pyarrow as pa
from attrs import frozen

import eddy
from benchmarks.pages import put
from benchmarks.ratio import Race, table
from benchmarks.stamp import load, machine

ROUNDS, CHUNK, PUSH = 9, 1 << 17, 1 << 14
KEYS = ROWS = 10_000
COLUMNS = {"ts": "int64", "k": "int64", "v": "int64", "w": "int64"}

Pushes = list[dict[str, Any]]


def sql(streams: str, where: str = "", shown: str = "A.v, B.w", rows: int = ROWS) -> eddy.Query:
    """A join of these streams by their key."""
    windows = ", ".join(f"{name} [ROWS {rows}]" for name in streams)
    keys = " AND ".join(f"A.k = {name}.k" for name in streams[1:])
    text = f"SELECT {shown} FROM {windows} WHERE {keys}{' AND ' * bool(where)}{where}"
    return eddy.sql(text, schemas=dict.fromkeys(streams, COLUMNS))


@frozen
class Case:
    """Queries over some streams, what stands beside them, and the most that their time may be of that."""

    streams: str
    queries: Mapping[str, eddy.Query]
    beside: Mapping[str, eddy.Query]
    goal: float
    memory: float | None = None


def cases() -> dict[str, Case]:
    """All of them by name."""
    views = ["A.v, B.w", "A.ts, C.v", "A.k, B.v, C.v", "A.v + C.w AS total", "B.w - C.w AS gap"]
    five = {f"alert {i}": sql("ABC", f"A.v BETWEEN {200 * i} AND {200 * i + 19}") for i in range(5)}
    of_five = {f"view {i}": sql("ABC", shown=shown) for i, shown in enumerate(views)}
    hundred = {
        f"rule {i}": sql("ABCD", f"A.v BETWEEN {9 * i} AND {9 * i + 99} AND B.w < {40 + i % 20}")
        for i in range(100)
    }
    thousand = {f"rule {i}": sql("ABCD", f"A.v = {i}") for i in range(1000)}
    twenty = {f"query {i}": sql("ABCD", rows=ROWS + i) for i in range(20)}
    one = {"query": sql("ABCD")}
    return {
        "five": Case("ABC", five, five, 0.45, 0.4),
        "five views": Case("ABC", of_five, of_five, 0.45, 0.4),
        "hundred": Case("ABCD", hundred, hundred, 0.1),
        "thousand": Case("ABCD", thousand, one, 5.0),
        "twenty": Case("ABCD", twenty, twenty, 1.0),
        "one": Case("ABCD", one, one, 1.0 / 0.98),
    }


def pushes(streams: str, size: int = PUSH, keys: int = KEYS) -> Iterator[Pushes]:
    """Chunks of the feed, in pushes of so many events."""
    random, n, done = np.random.default_rng(0), len(streams), 0
    while True:
        chunk = []
        for start in range(done, done + CHUNK, size):
            times, batch = np.arange(start, start + size), {}
            for number, name in enumerate(streams):
                ts = np.ascontiguousarray(times[times % n == number])
                batch[name] = {
                    "ts": ts,
                    "k": random.integers(0, keys, len(ts)),
                    "v": random.integers(0, 1000, len(ts)),
                    "w": random.integers(0, 100, len(ts)),
                }
            chunk.append(batch)
        done += CHUNK
        yield chunk


def together(engine: eddy.Eddy, alike: bool) -> Callable[[Pushes], int]:
    """Pushes a chunk into the engine of several, and reads all results; in one table where queries show the same."""

    def read(batch: dict[str, Any]) -> int:
        """No result outlives this, as in `apart`."""
        found: Any = engine.push_all(batch)
        tables = [found.to_arrow()] if alike else [result.to_arrow() for result in found.values()]
        return sum(map(len, tables))

    return lambda chunk: sum(map(read, chunk))


def apart(engines: list[eddy.Eddy]) -> Callable[[Pushes], int]:
    """Pushes a chunk into each engine, and reads all results."""

    def read(engine: eddy.Eddy, batch: dict[str, Any]) -> pa.Table:
        return engine.push_all(batch).to_arrow()

    return lambda chunk: sum(len(read(engine, batch)) for batch in chunk for engine in engines)


def measure(case: Case, rounds: int) -> list[str]:
    """A line of the table: the time and the memory of one side of that of the other, and what both cost."""
    several: Any = eddy.Eddy(case.queries)
    engines = [eddy.Eddy(query) for query in case.beside.values()]
    shown = {tuple(query.outputs) for query in case.queries.values()}
    source = pushes(case.streams)
    same = case.queries.keys() == case.beside.keys()
    race = Race(
        {"several": together(several, len(shown) == 1), "apart": apart(engines)},
        lambda: dict.fromkeys(("several", "apart"), next(source)),
        alike=lambda side: "all" if same else side,
    )
    race.warm(2)
    race.run(rounds)
    found = race.timings(CHUNK)
    ratio = found.ratio("apart", "several")
    own, theirs = several.nbytes, sum(engine.statistics().bytes for engine in engines)
    bytes_of = f"{own / theirs:.2f}" if same else "-"
    return [
        f"{ratio:.2f}",
        f"{case.goal:.2f}",
        bytes_of,
        "-" if case.memory is None else f"{case.memory:.2f}",
        *(f"{1000 / found.rate(side):,.0f}" for side in ("several", "apart")),
    ]


def added(rows: int) -> dict[str, eddy.Query]:
    """Queries that come, by what they share with one that is there."""
    left = f"SELECT A.v, B.w FROM A [ROWS {rows}] LEFT JOIN B [ROWS {rows}] ON A.k = B.k"
    windows = ", ".join(f"{name} [ROWS {rows}]" for name in "ABC")
    counts = f"SELECT A.k, COUNT(*) AS n FROM {windows} WHERE A.k = B.k AND A.k = C.k GROUP BY A.k"
    schemas = dict.fromkeys("ABC", COLUMNS)
    return {
        "the same core": sql("ABC", shown="A.ts, C.v", rows=rows),
        "the same core, the first filter": sql("ABC", "B.w < 50", rows=rows),
        "another core": sql("ABC", "B.w < 50", rows=rows - 1),
        "no core: `LEFT JOIN`": eddy.sql(left, schemas=schemas),
        "the same core, `GROUP BY`": eddy.sql(counts, schemas=schemas),
    }


def adding(query: eddy.Query, rows: int, size: int = 4096) -> tuple[float, float]:
    """The time that `add` takes where windows hold so many rows, and the longest push after it, in medians before."""
    engine: Any = eddy.Eddy({"one": sql("ABC", rows=rows)})
    source = pushes("ABC", size, rows)

    def push() -> list[float]:
        took = []
        for batch in next(source):
            start = time.thread_time()
            engine.push_all(batch)
            took.append(time.thread_time() - start)
        return took

    before: list[float] = []
    while len(before) * size < 4 * rows:
        before += push()
    start = time.thread_time()
    engine.add("other", query)
    return time.thread_time() - start, max(push()) / statistics.median(before[-100:])


def additions(times: int, rows: int = 100_000) -> list[list[str]]:
    """A line for each of `added`: the median of some times."""
    lines = []
    for name, query in added(rows).items():
        found = [adding(query, rows) for _ in range(times)]
        took, longest = (statistics.median(some) for some in zip(*found, strict=True))
        lines.append([name, f"{1000 * took:.1f}", "5", f"{longest:.1f}", "5"])
    return lines


HEAD = [
    "queries",
    "time, of engines apart",
    "goal",
    "memory, of engines apart",
    "goal",
    "ns an event",
    "apart",
]
ADDED = ["a query that is added has", "`add`, ms", "goal", "longest push after it, in medians", "goal"]
MEASURES = ("eddy", "policies", "stairs", "benchmarks/several.py")


def markdown(head: list[str], lines: list[list[str]]) -> list[str]:
    """A table of the docs."""
    return [f"| {' | '.join(line)} |" for line in (head, ["---"] + ["---:"] * (len(head) - 1), *lines)]


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.several", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="two rounds, to see that it works")
    parser.add_argument("--only", default="", help="only the case of this name")
    parser.add_argument(
        "--write", action="store_true", help="keep the tables, and write them into docs/several.md"
    )
    given = parser.parse_args()
    rounds, before = 2 if given.quick else ROUNDS, load()
    print(f"{machine()}, load {before}, {rounds} rounds of {CHUNK:,} events in turns")
    lines = [[name, *measure(case, rounds)] for name, case in cases().items() if given.only in ("", name)]
    come = additions(rounds // 2) if given.only in ("", "add") else []
    print(table(HEAD, lines))
    print()
    print(table(ADDED, come))
    if given.write:
        both = [*markdown(HEAD, lines), "", *markdown(ADDED, come)]
        put("several.md", "several queries", "several", both, MEASURES, before)
    return 0


if __name__ == "__main__":
    sys.exit(main())

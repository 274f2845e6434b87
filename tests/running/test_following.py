"""Sources that grow, that are silent, that end, that come later, and sinks that are slow."""

from __future__ import annotations

import os
import threading
import time

import pyarrow as pa
import pyarrow.parquet
import pytest

import eddy
from eddy.sources.base import BATCH
from tests.runs import QUERY, counted, expected, feed, write

SCHEMA = {"ts": "int64", "k": "int64"}
PAIR = "SELECT A.ts AS a, B.ts AS b FROM A [RANGE 1000], B [RANGE 1000] WHERE A.k = B.k"


class Writer:
    """Does things while a run goes on, and stops it when there are enough results."""

    def __init__(self, *steps, until):
        self.steps, self.until, self.loop, self.states = list(steps), until, None, []

    def control(self, loop):
        self.loop = loop

    def look(self, progress):
        if not self.states or self.states[-1] != progress.states:
            self.states.append(progress.states)
        if self.steps:
            self.steps.pop(0)()
        elif progress.results >= self.until or progress.seconds > 60:
            self.loop.stop()


def followed(query, sources, writer, **options):
    """The results of a run over sources that never end."""
    return eddy.run(query, sources, control=writer.control, on_progress=writer.look, **options)


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
@pytest.mark.parametrize("said", ["schema", "query"])
def test_a_file_that_is_not_there_yet_is_waited_for(ending, said, tmp_path):
    """Its schema is given, or its columns are those of the query's stream."""
    rows = pa.table({"ts": [1, 2, 3], "k": [1, 1, 2]})
    path = tmp_path / f"A.{ending}"
    schema = SCHEMA if said == "schema" else None
    query = PAIR if said == "schema" else eddy.sql(PAIR, dict.fromkeys("AB", SCHEMA))
    writer = Writer(lambda: None, lambda: write(rows, path), until=2)
    sources = {"A": eddy.source(path, schema=schema, follow=True), "B": {"ts": [1, 9], "k": [1, 2]}}
    outcome = followed(query, sources, writer, lateness=0)
    assert outcome.rows == {"A": 3, "B": 2} and outcome.ended == "stopped"
    assert writer.states[0]["A"] == "not there yet" and writer.states[-1] == {"A": "reading", "B": "ended"}
    assert not outcome.bad


@pytest.mark.parametrize("place", ["more/", "more/*.csv"])
def test_a_folder_that_is_not_there_yet_is_waited_for(place, tmp_path):
    """And the files that come into it one after the other."""
    where = f"{tmp_path}/{place}"

    def made(number, *times):
        os.makedirs(tmp_path / "more", exist_ok=True)
        write(pa.table({"ts": list(times), "k": [1] * len(times)}), tmp_path / "more" / f"{number}.csv")

    writer = Writer(lambda: made(1, 1, 2), lambda: made(2, 3, 4), until=2)
    source = eddy.source(where, schema=SCHEMA, format="csv", follow=True)
    outcome = followed(PAIR, {"A": source, "B": {"ts": [1], "k": [1]}}, writer, lateness=0)
    assert outcome.rows["A"] == 4


def test_without_a_schema_it_is_refused(tmp_path):
    """A text of SQL needs it; and without follow a file that is missing is an error."""
    source = eddy.source(tmp_path / "A.csv", follow=True)
    with pytest.raises(eddy.EddyError, match=r"A.csv is not there yet: give its schema too"):
        eddy.run("SELECT k FROM A [ROWS 1] WHERE k > 0", {"A": source})
    with pytest.raises(eddy.EddyError, match="there is no file"):
        eddy.source(tmp_path / "A.csv")


def test_a_file_that_is_still_being_written_is_read_when_it_is_whole(tmp_path):
    """Parquet has its index at the end: half a file is waited for while it is the last one, and nothing is lost."""
    rows = pa.table({"ts": list(range(500)), "k": list(range(500))})
    whole = pa.BufferOutputStream()
    pa.parquet.write_table(rows, whole)
    content = whole.getvalue().to_pybytes()
    path = tmp_path / "more" / "1.parquet"
    path.parent.mkdir()

    def more(stop):
        path.write_bytes(content[:stop])

    more(100)
    writer = Writer(lambda: more(len(content) // 2), lambda: more(len(content)), until=499)
    source = eddy.source(path.parent, schema=SCHEMA, format="parquet", follow=True)
    outcome = followed("SELECT k FROM A [ROWS 1] WHERE k >= 0", {"A": source}, writer)
    assert outcome.rows == {"A": 500} and not outcome.bad
    path.write_bytes(content[:100])
    write(rows, tmp_path / "more" / "2.parquet")
    writer = Writer(until=499)
    outcome = followed("SELECT k FROM A [ROWS 1] WHERE k >= 0", {"A": source}, writer, bad="drop")
    assert outcome.rows == {"A": 500} and "1.parquet" in outcome.letters[0]


class Counting(eddy.Source):
    """Rows without an end, or many; it knows how many were asked for."""

    def __init__(self, batches, each=100):
        self.schema, self.given, self.batches, self.each = SCHEMA, 0, batches, each

    def read(self, position):
        for number in range(self.batches):
            self.given += self.each
            start = number * self.each
            yield {"ts": list(range(start, start + self.each)), "k": [1] * self.each}, number


class Slow(eddy.Sink):
    """Lets nothing pass until it is told to, and knows what its sources had given by then."""

    def __init__(self, sources):
        self.sources, self.seen, self.written = sources, [], 0

    def open(self, schema, token):
        pass

    def write(self, table):
        before = [source.given for source in self.sources]
        time.sleep(0.02)
        assert [source.given for source in self.sources] == before, "it was read on"
        self.written += table.num_rows
        self.seen.append((sum(before), self.written))


@pytest.mark.parametrize("options", [{}, {"lateness": 0}, {"lateness": 500}, {"latency": "20 ms"}], ids=str)
def test_a_slow_sink_slows_the_sources(options):
    """Nothing is read while a sink writes, and what was read is at most a batch of each ahead of what was written."""
    sources = {name: Counting(60) for name in "AB"}
    sink = Slow(list(sources.values()))
    query = "SELECT A.ts AS a, B.ts AS b FROM A [RANGE 0], B [RANGE 0] WHERE A.ts = B.ts"
    outcome = eddy.run(query, sources, sink, **options)
    assert outcome.results == sink.written == 6000
    ahead = max(2 * 200, 2 * 600 if options.get("lateness") == 500 else 0)
    if "latency" not in options:
        assert all(given - 2 * written <= ahead + 400 for given, written in sink.seen)
    assert len(sink.seen) > 5


def test_what_waits_for_a_silent_source_is_bounded():
    """The others are read ahead of it, but not without an end."""
    held = threading.Event()

    class Silent(Counting):
        def read(self, position):
            while not held.is_set():
                yield None, 0
            yield from super().read(position)

    far = Counting(100_000, BATCH)
    given = []
    writer = Writer(*[lambda: given.append(far.given)] * 8, held.set, until=0)
    followed(PAIR, {"A": Silent(1), "B": far}, writer, lateness=0)
    assert given[-1] == given[-3] and (1 << 20) <= given[-1] <= (1 << 20) + 8 * BATCH


def test_an_idle_source_is_told_apart_from_one_that_has_ended(tmp_path):
    """What it gives later is not late because the others have ended: time follows those that are left."""

    class Sometimes(eddy.Source):
        schema = SCHEMA

        def read(self, position):
            for number in range(3):
                yield {"ts": [number], "k": [1]}, number
                end = time.monotonic() + 0.5
                while time.monotonic() < end:
                    yield None, number

    states = []
    outcome = eddy.run(
        PAIR,
        {"A": Sometimes(), "B": {"ts": [0, 0], "k": [1, 1]}},
        lateness=0,
        idle=0.1,
        on_progress=lambda progress: states.append((progress.states["A"], progress.states["B"])),
    )
    assert outcome.results == 6 and outcome.ended == "end"
    assert ("idle", "ended") in states and states[-1] == ("ended", "ended")


def test_the_time_that_is_left_is_told_where_the_end_is_known(tmp_path):
    """Not of files that grow: nobody knows how long these will be."""
    told = []
    tables = feed(5)
    paths = {name: write(table, tmp_path / f"{name}.csv") for name, table in tables.items()}
    outcome = eddy.run(QUERY, paths, on_progress=told.append, batch=10)
    assert told[-1].done == 1.0 and counted(outcome.to_arrow()) == expected(tables)
    told.clear()
    writer = Writer(until=0)
    sources = {name: eddy.source(path, follow=True) for name, path in paths.items()}

    def look(progress):
        told.append(progress)
        writer.loop.stop()

    eddy.run(QUERY, sources, control=writer.control, lateness=0, on_progress=look)
    assert {progress.done for progress in told} == {None}
    assert told[0].watermark is not None

"""Other threads ask an engine of several queries while queries come and go: nobody waits for ever."""

from __future__ import annotations

import logging
import sys
import threading
import time

import numpy as np
import pytest

import eddy
from eddy.monitoring.several import of_several
from eddy.page.recorder import Recorder
from eddy.page.several import Recorders
from eddy.page.watching import Watching

SCHEMAS = {name: {"ts": "int64", "k": "int64", "v": "int64"} for name in "AB"}
ROWS = 2000
JOIN = f"SELECT A.v FROM A [ROWS {ROWS}], B [ROWS {ROWS}] WHERE A.k = B.k"
LEFT = f"SELECT A.v FROM A [ROWS {ROWS}] LEFT JOIN B [ROWS {ROWS}] ON A.k = B.k"
LONG = 60.0
"""Seconds after which whoever has not come back never will."""


def query(text):
    return eddy.sql(text, schemas=SCHEMAS)


def engine_of(queries):
    """An engine with rows in all windows, of a hundred kinds for filters on v."""
    engine, random = (
        eddy.Eddy({name: query(text) for name, text in queries.items()}),
        np.random.default_rng(0),
    )
    for name in "AB":
        keys, values = random.permutation(ROWS), random.integers(0, 100, ROWS)
        engine.push(name, {"ts": np.arange(ROWS), "k": keys, "v": values})
    return engine


@pytest.fixture
def hurried():
    """Threads take turns so often that one is seldom let alone between two lines."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


def beside(readers, work):
    """What readers have raised that were called again and again, each in a thread, while ``work`` was done."""
    over, errors, done = threading.Event(), [], [0] * len(readers)

    def read(number):
        while not over.is_set():
            try:
                readers[number]()
            except BaseException as error:
                errors.append(error)
            done[number] += 1

    def works():
        try:
            work()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=read, args=(i,), daemon=True) for i in range(len(readers))]
    worker = threading.Thread(target=works, daemon=True)
    for thread in (*threads, worker):
        thread.start()
    worker.join(LONG)
    over.set()
    assert not worker.is_alive(), "whoever changes the engine waits for ever"
    for thread in threads:
        thread.join(LONG)
        assert not thread.is_alive(), "a reader waits for ever"
    assert all(done)
    return errors


def test_queries_with_filters_are_added_while_somebody_reads():
    """So many that the sets of queries that want a row are tidied up when one more comes."""
    engine = engine_of({"all": f"{JOIN} AND A.v >= 0"})

    def work():
        for i in range(60):
            engine.add(f"q{i}", query(f"{JOIN} AND A.v > {i}"))

    assert beside([engine.overall], work) == []
    for i in range(0, 60, 7):
        alone = engine_of({"one": f"{JOIN} AND A.v > {i}"})
        more = {"ts": [ROWS], "k": [5], "v": [70]}
        alone.push("B", more)
        assert len(alone.push("A", more)["one"]) > 0
    engine.push("B", more)
    assert set(engine.push("A", more).counts.values()) == {2}


def test_a_query_with_rows_of_its_own_is_added_while_somebody_reads():
    """One that shares no core takes the rows in that are there, in pieces."""
    engine = engine_of({"all": JOIN})

    def work():
        for i in range(20):
            engine.add(f"left {i}", query(LEFT))
            if i:
                engine.drop(f"left {i}")

    assert beside([engine.overall], work) == []
    assert engine.push("B", {"ts": [ROWS], "k": [5], "v": [1]}).counts == {"all": 1, "left 0": 1}


def test_whoever_reads_finds_all_queries_as_they_are_at_one_moment(hurried):
    """The page, metrics and each door, while cores and queries come and go."""
    engine = engine_of({"first": JOIN, "second": f"{JOIN} AND A.v > 50"})
    recorders = Recorders(engine)
    recorders.read(now=True)

    def serve():
        assert recorders.version > 0
        assert recorders.told("first")["cores"][0]["queries"].startswith("first")

    def ask():
        names = [list(core.queries) for core in engine.cores_with_queries()]
        assert names[0][:2] == ["first", "second"] and all(names)
        assert engine.plan["first"] and engine.frozen["first"] is False and engine.decisions["first"] == ()
        assert engine.statistics()["first"].events == 2 * ROWS

    def work():
        end, i = time.monotonic() + 2, 0
        while time.monotonic() < end:
            i += 1
            engine.add(f"core {i}", query(JOIN.replace(str(ROWS), str(100 + i))))
            engine.add(f"query {i}", query(f"{JOIN} AND A.v > {i % 90}"))
            engine.drop(f"core {i}")
            engine.drop(f"query {i}")

    assert beside([recorders.read, serve, lambda: of_several(engine), ask], work) == []
    recorders.read()
    assert [core["queries"] for core in recorders.told()["cores"]] == ["first, second"]


def test_a_page_goes_on_after_a_reading_that_failed(monkeypatch, caplog):
    """It is said once."""
    engine, read, found = eddy.Eddy(query(JOIN)), Recorder.read, []
    enough = threading.Event()

    def fails(self, *given, **more):
        found.append(len(found) < 2)
        if found[-1]:
            raise ValueError("not now")
        enough.set()
        return read(self, *given, **more)

    with caplog.at_level(logging.ERROR, "eddy"):
        monkeypatch.setattr(Recorder, "read", fails)
        with Watching(Recorder(engine), None).follow():
            assert enough.wait(LONG)
    assert [record.exc_info[1].args for record in caplog.records] == [("not now",)]

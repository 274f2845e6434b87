"""What a run, and an engine, tell `logging`: events with names that stay, and values that a program can read."""

from __future__ import annotations

import logging
import re
import time

import pytest

import eddy
from eddy.connect.address import parsed
from eddy.connect.patience import Patience
from eddy.log.events import EVENTS, Log
from policies import Routing
from tests.runs import QUERY, feed, write

SCHEMA = {"ts": "int64", "k": "int64"}
PAIR = "SELECT A.ts AS a, B.ts AS b FROM A [RANGE 100], B [RANGE 100] WHERE A.k = B.k"


class Kept(logging.Handler):
    """Keeps what is told."""

    def __init__(self):
        super().__init__()
        self.records = []

    def emit(self, record):
        self.records.append(record)

    def of(self, event):
        return [record for record in self.records if record.event == event]


@pytest.fixture
def told():
    """What is told to `eddy` and the loggers below it."""
    kept, logger = Kept(), logging.getLogger("eddy")
    level = logger.level
    logger.setLevel(logging.INFO)
    logger.addHandler(kept)
    yield kept
    logger.removeHandler(kept)
    logger.setLevel(level)


class Restless(Routing):
    """Another plan each time that it is asked."""

    period = 10

    def choose(self, view):
        return "A (B C)" if view.plan == "(A B) C" else "(A B) C"


class Steps(eddy.Source):
    """Batches of rows, nothing between them, or something that is done."""

    schema = SCHEMA
    bounded = False

    def __init__(self, *steps):
        self.steps = steps

    def read(self, position):
        for number, step in enumerate(self.steps):
            if callable(step):
                while step():
                    yield None, number
            else:
                yield step, number


def rows(*times):
    return {"ts": list(times), "k": [1] * len(times)}


def run_everything(tmp_path):
    """Runs in which all happens that there is an event for."""
    tables = feed(1)
    here = {"checkpoint": tmp_path / "here", "every": 0, "batch": 10}
    loops = []
    for times in (1, 2):  # stopped, and restarted
        eddy.run(
            QUERY,
            {**tables, "A": eddy.source(write(tables["A"], tmp_path / "A.csv"))},
            tmp_path / "out.csv",
            control=loops.append,
            on_progress=lambda _, times=times: times == 1 and loops[0].stop(),
            routing=Restless(),
            plan="(A B) C",
            **here,
        )
    late = tmp_path / "late.csv"
    began = []
    todo = [(0.3, "ts,k\n1,1\n50,1\nnever,1\n"), (1.0, "2,1\n70,1\n"), (1.6, "")]

    def quiet():
        """Nothing comes for a while, in which the other file is written."""
        began.append(time.monotonic())
        if todo and began[-1] - began[0] > todo[0][0]:
            with open(late, "a") as file:
                file.write(todo.pop(0)[1])
        return bool(todo)

    loops.clear()
    eddy.run(
        PAIR,
        {
            "A": eddy.source(late, schema=SCHEMA, follow=True),
            "B": Steps(rows(40), quiet, rows(55)),
        },
        lateness=5,
        late="drop",
        idle=0.2,
        batch=1,
        memory="1 KB",
        control=loops.append,
        on_progress=lambda progress: progress.states["B"] == "ended" and loops[0].stop(),
    )
    schemas = {name: eddy.Stream(table.schema) for name, table in tables.items()}
    query = (
        QUERY.replace("RANGE 30", "RANGE 300").replace("ROWS 15", "ROWS 300").replace("RANGE 20", "RANGE 300")
    )
    engine = eddy.Eddy(eddy.sql(query, schemas), "(A B) C", memory="60 KB")
    for start in range(0, 600, 10):
        ts = list(range(start, start + 10))
        batch = {"ts": ts, "k": [t % 8 for t in ts], "id": ts, "note": ["x"] * 10}
        engine.push_all(dict.fromkeys("ABC", batch))
    server = Patience(parsed("redis://localhost/clicks"))
    server.failed(OSError("gone"))
    server.fine()


def test_every_event_occurs_and_no_other(told, tmp_path):
    """Each record has its event, and the values that stand in its words as attributes; nothing else is told."""
    run_everything(tmp_path)
    assert {record.event for record in told.records} == set(EVENTS)
    for record in told.records:
        event = EVENTS[record.event]
        assert record.levelno == event.level
        assert record.getMessage() == event.message % vars(record)
    assert {record.name for record in told.records} == {"eddy.run", "eddy"}
    (appeared,) = told.of("source appeared")
    assert (appeared.stream, appeared.source) == ("A", str(tmp_path / "late.csv"))
    assert told.of("late rows")[0].streams == {"A": 1} and told.of("dead letters")[0].rows == 1
    assert "never" in told.of("dead letters")[0].first
    assert told.of("restarted")[0].checkpoint >= 1


def test_an_engine_outside_a_run_tells_of_late_rows(told):
    """To the logger `eddy`; more than one message a second is not told, but counted."""
    query = eddy.sql(PAIR, dict.fromkeys("AB", SCHEMA))
    engine = eddy.Eddy(query, "A B", lateness=1, late="drop")
    engine.push_all({"A": rows(50), "B": rows(50)})
    for _ in range(5):
        engine.push("A", rows(1, 2))
    (record,) = told.records
    assert (record.name, record.event, record.rows, record.streams) == ("eddy", "late rows", 2, {"A": 2})
    engine.close()
    assert [record.rows for record in told.records] == [2, 8]


def test_what_may_flood_is_told_once_in_a_period(told):
    """What was counted meanwhile comes with the next; what is not counted is passed over."""
    now = [0.0]
    log = Log("eddy.run", lambda: now[0])
    for second in range(5):
        now[0] = second / 2
        log.count("late rows", "A", 1)
        log.count("late rows", "B", 2)
        log.tell("memory budget reached", budget=1, keys=second)
    assert [(record.rows, record.streams) for record in told.of("late rows")] == [
        (1, {"A": 1}),
        (6, {"A": 2, "B": 4}),
        (6, {"A": 2, "B": 4}),
    ]
    log.flush(last=True)
    assert sum(record.rows for record in told.of("late rows")) == 15
    assert len(told.of("memory budget reached")) == 1


def test_the_docs_have_every_event():
    """The table of docs/monitoring.md names them, their levels and their values."""
    from tests.test_readme import PAGES

    page = PAGES["docs/monitoring.md"]
    for name, event in EVENTS.items():
        values = ", ".join(f"`{value}`" for value in re.findall(r"%\((\w+)\)", event.message))
        assert f"| {name} | {logging.getLevelName(event.level).lower()} | {values} |" in page, name

"""The workloads of `make peers`, small, with the contenders that are installed here: all have the same results."""

import importlib
import importlib.util
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from attrs import evolve

from benchmarks.papers.record import Record, keep
from benchmarks.peers import tables
from benchmarks.peers.checksum import checksum
from benchmarks.peers.child import Broken, Child, TooLong
from benchmarks.peers.contenders import BY_NAME, CONTENDERS, EDDY, Contender, rival
from benchmarks.peers.environments import requirements
from benchmarks.peers.measure import CODE, PROFILE, Match, Options, code_of
from benchmarks.peers.protocol import Clock
from benchmarks.peers.workloads import WORKLOADS
from benchmarks.stamp import Stamp, digest
from tests.naive import join

SMALL = 2_000
HERE = ("eddy", "eddy-2", "dict", "cpp", "polars", "polars-buckets", "duckdb", "duckdb-buckets")
"""Contenders that need nothing but the environment of the tests, and a compiler."""


def here(contender):
    """Whether it can run in this process."""
    if contender.needs == "c++":
        return contender.installed
    return not contender.needs or importlib.util.find_spec(contender.needs) is not None


def side(contender, spec):
    """A contender in this process."""
    if not here(contender):
        pytest.skip(f"{contender.needs} is not installed")
    module = importlib.import_module(f"benchmarks.peers.{contender.runner}")
    kind = next(
        value
        for value in vars(module).values()
        if isinstance(value, type) and value.__module__ == module.__name__
    )
    return kind(spec, dict(contender.settings))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("peers")


@pytest.mark.parametrize("workload", WORKLOADS, ids=lambda workload: workload.name)
def test_contenders_have_the_same_results(workload, folder):
    spec = workload.write(folder, SMALL)
    _, expected = side(EDDY, spec).run(True)
    assert len(expected) or workload.name == "twenty"
    for name in HERE:
        contender = BY_NAME[name]
        if contender.unable(spec) is None and here(contender):
            clock, found = side(contender, spec).run(True)
            assert (len(found), checksum(found)) == (len(expected), checksum(expected)), name
            assert clock.seconds > 0


@pytest.mark.parametrize("name", ["three", "chain", "nexmark8"])
def test_the_results_are_those_of_the_oracle(name, folder):
    """A few hundred events, since the oracle tries all combinations."""
    workload = next(workload for workload in WORKLOADS if workload.name == name)
    spec = workload.write(folder, 200)
    window = ("range", spec.range) if spec.range is not None else ("tumbling time", spec.tumbling)
    streams = {
        stream: SimpleNamespace(columns=tuple(types), window=window, time="ts")
        for stream, types in spec.streams.items()
    }
    where = [("=", ("col", *left), ("col", *right)) for left, right in spec.equal]
    rows = {stream: pq.read_table(spec.path(stream)).to_pylist() for stream in streams}
    events = sorted(
        ((row["ts"], stream, tuple(row[column] for column in streams[stream].columns))
        for stream, found in rows.items() for row in found)
    )  # fmt: skip
    expected = sum(map(len, join(streams, where, [event[1:] for event in events])))
    assert expected and side(EDDY, spec).run(True)[1].num_rows == expected


def test_a_workload_is_the_same_for_the_same_seed(tmp_path):
    workload = WORKLOADS[0]
    one, same, other = (
        workload.write(tmp_path / str(i), SMALL, seed).path("A").read_bytes()
        for i, seed in enumerate((0, 0, 1))
    )
    assert one == same != other


def test_the_checksum_depends_on_rows_and_not_on_their_order():
    columns = {"a": [1, 2, 3], "b": ["x", "y", "z"]}
    table = pa.table(columns)
    assert checksum(table) == checksum(table.take([2, 0, 1]))
    assert checksum(table) == checksum(pa.concat_tables([table.slice(1), table.slice(0, 1)]))
    assert checksum(table) != checksum(pa.table({"a": [2, 1, 3], "b": columns["b"]}))
    assert checksum(table) != checksum(pa.concat_tables([table, table.slice(0, 1)]))
    assert checksum(table.slice(0, 0)) == f"{0:016x}"
    swapped = pa.table({"a": np.array([1, 2]), "b": np.array([2, 1])})
    assert checksum(swapped) != checksum(swapped.select(["b", "a"]).slice(0, 1))


def test_a_contender_is_compared_in_a_process_of_its_own(folder, monkeypatch):
    monkeypatch.setattr("benchmarks.peers.measure.data_folder", lambda: folder)
    monkeypatch.setattr("benchmarks.peers.measure.ENOUGH", 0.0)
    match = Match(WORKLOADS[0], Options(bound=300.0, events=SMALL))
    try:
        row = match.compare(BY_NAME["dict"])
    finally:
        match.close()
    assert row["status"] == "timed" and row["runs"] == 3 and row["ratio"] > 0
    assert row["peak"] > 2**20 and row["facts"]["version"].startswith("Python")


def test_a_stamp_has_the_options_of_its_command():
    """So that the command measures the same again; those that are as usual are left out."""
    assert Options().given == ""
    assert Options(bound=110.0, rounds=1, seed=2).given == " --bound 110 --rounds 1 --seed 2"


def test_what_a_contender_is_built_from_is_part_of_what_is_measured():
    """The C++ sources of the join by hand, and the data that drift."""
    assert "benchmarks/drift_workloads.py" in CODE
    assert {"benchmarks/peers/cpp.py", "benchmarks/peers/fixed.cpp"} <= set(code_of(BY_NAME["cpp"]))
    for contender in CONTENDERS:
        assert digest(code_of(contender))


def test_a_contender_that_takes_too_long_is_ended_and_one_that_fails_says_why(folder):
    spec = WORKLOADS[0].write(folder, SMALL)
    with pytest.raises(TooLong, match="ended after 0 s"):
        Child(BY_NAME["dict"], spec, bound=0.0)
    with pytest.raises(Broken, match=r"No module named benchmarks\.peers\.nobody"):
        Child(Contender("nobody", "nobody", "nobody"), spec, bound=300.0)


def test_a_contender_whose_results_differ_is_not_timed(folder, monkeypatch):
    monkeypatch.setattr("benchmarks.peers.measure.data_folder", lambda: folder)

    class Wrong:
        startup = 0.0

        def __init__(self, contender, spec, bound):
            self.contender = contender

        def run(self, check):
            rows = 5 if self.contender is EDDY else 4
            return {"seconds": 1.0, "count": rows, "checksum": "", "facts": {}}

        def close(self):
            pass

    monkeypatch.setattr("benchmarks.peers.measure.Child", Wrong)
    row = Match(WORKLOADS[0], Options(events=SMALL)).compare(BY_NAME["dict"])
    assert row["status"] == "wrong" and "4 where there are 5" in row["why"] and "ratio" not in row


def test_names_are_unique_and_what_is_installed_is_in_the_extra():
    assert len({workload.name for workload in WORKLOADS}) == len(WORKLOADS)
    assert len(BY_NAME) == len(CONTENDERS) + 2
    assert {contender.package for contender in CONTENDERS if contender.package} <= set(requirements())
    assert rival(BY_NAME["duckdb-2"]).threads == 2 and rival(BY_NAME["flink"]).threads == 1


def test_a_clock_has_both_times():
    with Clock() as clock:
        sum(range(10_000))
    assert clock.seconds > 0 and clock.processor >= 0


STAMP = Stamp("abc", "2026-01-01 00:00", "a machine", (1.0, 2.0), 0, "make peers", "code", 1.0)


def test_tables_show_losses_and_who_was_not_timed(tmp_path):
    timed = {
        "status": "timed", "ratio": 0.5, "goal": 1.3, "events": 10, "seconds": 3.0, "processor": 2.0, "peak": 2**21,
        "eddy processor": 1.0, "eddy peak": 2**20, "against": "Eddy", "facts": {"version": "1", "settings": "s"},
    }  # fmt: skip
    wrong = {"status": "wrong", "why": "its results differ: 4 where there are 5", "goal": 10.0}
    ended = {"status": "ended", "why": "ended after 9 s", "ratio": 90.0, "goal": 10.0}
    for name, row in (("cpp", timed), ("laminardb", wrong), ("pathway", ended)):
        keep("three", PROFILE, name, Record([row], STAMP), tmp_path)
    found = tables.records(tmp_path)
    text = "\n".join(tables.page(found))
    assert "| C++ by hand, one plan | 0.5° |" in text and "**0 of 1**" in text
    assert "| Pathway, streaming | 10 times | - | - | - | 1, at 90 times or more |" in text
    assert "nothing is known of the goals there" not in text
    keep("four", PROFILE, "cpp", Record([timed], STAMP), tmp_path)
    more = "\n".join(tables.page(tables.records(tmp_path)))
    assert "- Pathway, streaming; LaminarDB, all at once: 4 streams on one key." in more
    (tmp_path / PROFILE / "four.json").unlink()
    assert "| LaminarDB, all at once | wrong |" in text and "4 where there are 5" in text
    assert "| Pathway, streaming | 90° † |" in text and "has changed since in 3 of 3" in text
    short = "\n".join(tables.front(found))
    assert "Some of these figures are older than the code" in short
    assert "C++ by hand, one fixed plan | 0.5 |" in short and "| Pathway | over 90 |" in short
    later = Record([timed | {"ratio": 2.0}], evolve(STAMP, commit="def"))
    keep("three", PROFILE, "cpp", later, tmp_path)
    assert tables.records(tmp_path)["three"]["laminardb"].stamp.commit == "abc"


def test_the_pages_show_what_was_measured():
    found = tables.records()
    for path, name, lines in (
        (tables.PAGE, "peers", tables.page(found)),
        (tables.FRONT, "peers in short", tables.front(found)),
    ):
        text = path.read_text(encoding="utf-8")
        assert tables.inserted(text, name, lines) == text, f"{path.name}: make pages"

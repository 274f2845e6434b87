"""What an engine refuses, with a message that says why, and without a trace."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import eddy
from eddy.spark.bounded import check_options
from policies import Fixed, Jisc, NoFeedback
from tests.feeds import query, rows

GOOD = {"ts": [20, 21], "k": [1, 2], "i8": [1, -1], "u": [0, 9], "s": ["a", "b"], "f": [0.5, 1.5]}
KINDS = {"ts": "int64", "k": "int64", "i8": "int8", "u": "uint16", "s": "string", "f": "float64"}


def without(column):
    return {name: values for name, values in GOOD.items() if name != column}


BAD = {
    "an unknown stream": lambda e: e.push("Z", GOOD),
    "an unknown stream beside a good one": lambda e: e.push_all({"A": GOOD, "Z": GOOD}),
    "a column in another case": lambda e: e.push("A", {**without("f"), "F": [1, 2]}),
    "a missing column": lambda e: e.push("A", without("f")),
    "a missing time": lambda e: e.push("A", without("ts")),
    "a text for a number": lambda e: e.push("A", {**GOOD, "k": ["one", "two"]}),
    "a number for a text": lambda e: e.push("A", {**GOOD, "s": [1, 2]}),
    "a fraction for an integer": lambda e: e.push("A", {**GOOD, "k": [1.5, 2.0]}),
    "ragged columns": lambda e: e.push("A", {**GOOD, "s": ["a"]}),
    "an array of two dimensions": lambda e: e.push("A", {**GOOD, "k": np.ones((2, 2), int)}),
    "a scalar": lambda e: e.push("A", {**GOOD, "k": 5}),
    "an integer too large for int8": lambda e: e.push("A", {**GOOD, "i8": [1, 128]}),
    "an integer too large for int64": lambda e: e.push("A", {**GOOD, "k": [1, 2**63]}),
    "a negative number for uint16": lambda e: e.push("A", {**GOOD, "u": [1, -1]}),
    "a time that goes back in the batch": lambda e: e.push("A", {**GOOD, "ts": [21, 20]}),
    "a time before the newest event": lambda e: e.push("A", {**GOOD, "ts": [5, 20]}),
    "a time before it in push_all": lambda e: e.push_all({"B": GOOD, "A": {**GOOD, "ts": [5, 30]}}),
    "a NULL time": lambda e: e.push("A", {**GOOD, "ts": [20, None]}),
    "one good batch of two": lambda e: e.push_all({"A": GOOD, "B": {**GOOD, "i8": [1, 999]}}),
    "no batch": lambda e: e.push("A", None),
    "a list of rows": lambda e: e.push("A", [(20, 1, 1, 0, "a", 0.5)]),
    "a column in place of a batch": lambda e: e.push("A", pa.chunked_array([[20, 21]])),
    "a column in place of a batch in push_all": lambda e: e.push_all({"A": GOOD, "B": pa.array([20, 21])}),
    "a batch in parts": lambda e: e.push("A", {**GOOD, "i8": [1, 128]}, max_rows=5),
    "push_all of no mapping": lambda e: e.push_all([("A", GOOD)]),
    "a plan that misses a stream": lambda e: e.migrate("A B"),
    "a plan that repeats one": lambda e: e.migrate("(A B) A"),
    "a plan that is none": lambda e: e.migrate(None),
}


@pytest.mark.parametrize("what", list(BAD))
def test_what_is_refused_leaves_no_trace(what):
    """The error names the fault, statistics stay equal, and all later results are those of a twin never asked."""
    streams = {name: eddy.Stream(KINDS, window=eddy.Range(15)) for name in "ABC"}
    made = eddy.Query(streams, where=["A.k = B.k", "B.s = C.s", "A.f <= C.f"])
    asked, twin = (eddy.Eddy(made, plan="(A B) C", batch_size=3) for _ in range(2))

    def go_on(time, keys):
        many = {
            "ts": time + np.arange(6) // 2,
            "k": keys,
            "i8": keys,
            "u": keys,
            "s": [f"t{k % 2}" for k in keys],
        }
        both = []
        for engine in (asked, twin):
            found = [engine.push(name, {**many, "f": keys}) for name in "ABC" if time % 2 == 0]
            found.append(engine.push_all({name: {**many, "f": keys, "ts": many["ts"] + 3} for name in "CBA"}))
            both.append([(rows(part), part.to_pydict()) for part in found])
        assert both[0] == both[1]
        return sum(len(part) for part, _ in both[0])

    assert go_on(1, [1, 2, 3, 1, 2, 3]) > 0
    before = asked.statistics(), asked.explain()
    with pytest.raises(eddy.EddyError) as error:
        BAD[what](asked)
    assert len(str(error.value)) > 20
    assert (asked.statistics(), asked.explain()) == before
    assert asked.statistics() == twin.statistics()
    assert go_on(7, [3, 3, 2, 1, 9, 1]) > 0
    asked.migrate("A (B C)")
    twin.migrate("A (B C)")
    assert go_on(13, [1, 2, 3, 1, 2, 3]) > 0
    assert asked.statistics() == twin.statistics()


def asked(**when):
    """A routing policy that is asked at such times."""

    class Asked(Fixed):
        pass

    for name, value in when.items():
        setattr(Asked, name, value)
    return Asked()


@pytest.mark.parametrize(
    "make, says",
    [
        (lambda: eddy.Query({}), "streams"),
        (lambda: eddy.Query({"A": eddy.Stream({"x": "int64"})}, minus={}), "minus is empty"),
        (lambda: query(where=["A.k = B.nothing"]), "nothing"),
        (lambda: query(where=["A.k < 'text'"]), "A.k"),
        (lambda: query(where=[]), "cross=True"),
        (lambda: eddy.Eddy("A B"), "eddy.Query"),
        (lambda: eddy.Eddy(query(), plan="A C"), "no stream of the query"),
        (lambda: eddy.Eddy(query(), batch_size=0), "batch_size"),
        (lambda: eddy.Eddy(query(), batch_size=2.5), "batch_size"),
        (lambda: eddy.Eddy(query(), joins="merge"), "'hash' or 'nested'"),
        (lambda: eddy.Eddy(query(), routing=Fixed), r"pass an instance, Fixed\(\)"),
        (lambda: eddy.Eddy(query(), routing=Jisc()), "policies.Routing"),
        (lambda: eddy.Eddy(query(), routing=asked(period="5")), "period of the routing policy Asked must be"),
        (lambda: eddy.Eddy(query(), routing=asked(period=0)), "period of the routing policy Asked must be"),
        (lambda: eddy.Eddy(query(), routing=asked(work=5)), "work of the routing policy Asked must be"),
        (lambda: eddy.Eddy(query(), migration=NoFeedback()), "policies.Migration"),
        (lambda: eddy.Eddy(query(), migration="jisc"), "policies.Migration"),
        (lambda: eddy.Eddy(query(), feedback=Fixed()), "policies.Feedback"),
    ],
)
def test_an_engine_that_cannot_be_is_refused(make, says):
    """An empty query, a predicate without types, a wrong option or policy: the message says which."""
    with pytest.raises(eddy.EddyError, match=says):
        make()


@pytest.mark.parametrize("threads", [65, 1000, 2**70])
def test_more_threads_than_are_of_use_are_refused(tmp_path, threads):
    """By a new engine, by one that is loaded, and on Spark; a few more than there are processors are not."""
    eddy.Eddy(query()).save(tmp_path / "engine.eddy")
    says = f"threads must be at most 64, not {threads}: give no more than there are processors"
    for make in (
        lambda: eddy.Eddy(query(), threads=threads),
        lambda: eddy.Eddy.load(tmp_path / "engine.eddy", threads=threads),
        lambda: check_options(query(), {"threads": threads}),
    ):
        with pytest.raises(eddy.EddyError, match=says):
            make()
    assert eddy.Eddy.load(tmp_path / "engine.eddy", threads=3).threads == 3


@pytest.mark.parametrize("background", [-1, 1.5, "3", None])
def test_the_budget_of_jisc_is_a_number_of_keys(background):
    """Anything but a whole number that is not negative is refused where it is written."""
    with pytest.raises((ValueError, TypeError)):
        Jisc(background=background)

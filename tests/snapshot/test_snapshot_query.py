"""Which query a snapshot belongs to, and what may be given when it is loaded."""

from __future__ import annotations

import io
import json
from pathlib import Path

import numpy as np
import pytest

import eddy
from eddy.snapshot.query import check_same, describe, rebuilt
from policies import Fixed
from tests.cases import within_two
from tests.snapshots import plain

ROOT = Path(__file__).parents[2]


def test_a_predicate_of_the_users_own_needs_the_query(tmp_path):
    """A function is not in the file: the query must be given, and then all is as before."""
    streams = {name: {"x": "int64"} for name in "AB"}
    query = eddy.Query(streams, [eddy.predicate(within_two, "A.x", "B.x")])
    engine = plain(query)
    engine.push("A", {"x": range(10)})
    engine.save(tmp_path / "own.eddy")
    with pytest.raises(eddy.StateError, match=r"within_two\(A\.x, B\.x\): load it with .*query=query"):
        eddy.Eddy.load(tmp_path / "own.eddy")
    assert len(eddy.Eddy.load(tmp_path / "own.eddy", query).push("B", {"x": [4]})) == 5
    with pytest.raises(eddy.StateError, match=r"only it has the predicate A\.x = B\.x"):
        eddy.Eddy.load(tmp_path / "own.eddy", eddy.Query(streams, ["A.x = B.x"]))


BASE = "SELECT A.x FROM A [RANGE 5 MINUTES], B [ROWS 5] WHERE A.x = B.x AND A.y > 1"
TYPES = {"ts": "timestamp[ms]", "x": "int64", "y": "int64"}


@pytest.mark.parametrize(
    ("text", "types", "message"),
    [
        (BASE, TYPES, None),
        (BASE.replace("5 MINUTES", "300 SECONDS"), TYPES, None),
        ("SELECT A.x FROM A [RANGE 5 MINUTES], B [ROWS 5] WHERE A.y > 1 AND A.x = B.x", TYPES, None),
        (BASE, {**TYPES, "x": "string"}, r"column A\.x is string, in the snapshot it is int64"),
        (BASE, {**TYPES, "z": "string"}, r"column A\.z is string, in the snapshot it is missing"),
        (BASE, {**TYPES, "ts": "timestamp[us]"}, r"column A\.ts is timestamp\[us\], in the snapshot"),
        (BASE.replace("ROWS 5", "ROWS 6"), TYPES, r"the window of B is Rows\(6\), in the snapshot it is Rows\(5\)"),
        (BASE.replace("A.y > 1", "A.y > 2"), TYPES, r"only it has the predicate A\.y > 2"),
        (BASE.replace(" AND A.y > 1", ""), TYPES, r"only the snapshot has the predicate A\.y > 1"),
        (BASE.replace("SELECT A.x", "SELECT A.x, B.y"), TYPES, r"selects A\.x, B\.y, the snapshot A\.x"),
        (BASE.replace("], B", "] CROSS JOIN B"), TYPES, "cross is True"),
        ("SELECT A.x FROM B [ROWS 5], A [RANGE 5 MINUTES] WHERE A.x = B.x AND A.y > 1", TYPES,
         "its streams are B, A, the snapshot's A, B"),
    ],
)  # fmt: skip
def test_another_query_is_refused(tmp_path, text, types, message):
    """A query that is given must be the saved one; the error says what differs."""
    plain(eddy.sql(BASE, dict.fromkeys("AB", TYPES))).save(tmp_path / "query.eddy")
    given_query = eddy.sql(text, dict.fromkeys("AB", types))
    if message is None:
        assert eddy.Eddy.load(tmp_path / "query.eddy", given_query).query is given_query
    else:
        with pytest.raises(eddy.StateError, match=message):
            eddy.Eddy.load(tmp_path / "query.eddy", given_query)


NUMBERS = {"x": "int64", "y": "int64", "z": "float64", "v": "int64"}
WRITTEN = {
    "sides": ("A.x = B.x AND A.y < B.y AND A.v > 1", "B.x = A.x AND B.y > A.y AND 1 < A.v"),
    "order": ("A.x = B.x AND A.y = B.y AND B.y = C.y", "B.y = C.y AND A.y = B.y AND A.x = B.x"),
    "way round": ("A.x = B.x AND B.x = C.x", "C.x = A.x AND C.x = B.x"),
    "two columns of one": ("A.x = B.x AND A.x = B.y AND B.x = C.x", "B.y = A.x AND C.x = B.y AND A.x = B.x"),
    "other types": ("A.z = B.z AND A.z = B.x AND B.z = C.z", "C.z = A.z AND A.z = B.x AND A.z = B.z"),
    "within one": ("A.x = B.x AND B.y = C.y AND C.x = C.v", "C.v = C.x AND A.x = B.x AND B.y = C.y"),
    "or": (
        "A.x = B.x AND (A.y > 3 OR B.y > 2 OR A.v = 1)",
        "A.x = B.x AND (A.v = 1 OR (2 < B.y OR 3 < A.y))",
    ),
    "not": ("A.x = B.x AND NOT (A.z < B.z AND A.v = 1)", "A.x = B.x AND NOT (1 = A.v AND B.z > A.z)"),
    "in": ("A.x = B.x AND A.v IN (1, 2, 3)", "A.x = B.x AND A.v IN (3, 1, 2)"),
}


@pytest.mark.parametrize("own", [False, True], ids=["", "with a function"])
@pytest.mark.parametrize("how", WRITTEN)
def test_conditions_may_be_written_in_another_way(tmp_path, how, own):
    """Sides, order and which equality follows from others: the engine goes on exactly; keys are in no result here."""

    def made(text):
        streams = {name: eddy.Stream(NUMBERS, window=eddy.Rows(20)) for name in "ABC"}
        rest = [eddy.predicate(within_two, "A.v", "B.v")] * own + ["A.v <= C.v + 9"]
        return eddy.Query(streams, [text, *rest], select=["A.v", "B.v AS b"])

    def feed(engine, seed):
        random = np.random.default_rng(seed)
        batch = {n: {c: random.integers(0, 4, 30) for c in NUMBERS} for n in "ABC"}
        return sorted(engine.push_all(batch).rows.tolist())

    one, other = map(made, WRITTEN[how])
    engine = eddy.Eddy(one, batch_size=16)
    feed(engine, 1)
    engine.save(tmp_path / "one.eddy")
    again = eddy.Eddy.load(tmp_path / "one.eddy", other)
    for seed in (2, 3):
        found = feed(engine, seed)
        assert feed(again, seed) == found and found
        again.save(tmp_path / "other.eddy")
        again = eddy.Eddy.load(tmp_path / "other.eddy", one)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("A.x = B.x AND B.x = C.x", "A.x = B.x AND B.y = C.y"),
        ("A.x = B.x AND A.x = B.y AND A.x = C.x", "A.x = B.x AND A.x = C.x"),
        ("A.x = B.x AND A.y < B.y", "A.x = B.x AND B.y < A.y"),
        ("A.x = B.x AND A.y - B.y > 1", "A.x = B.x AND B.y - A.y > 1"),
        ("A.x = B.x AND (A.y > 3 OR B.y > 2)", "A.x = B.x AND (A.y > 2 OR B.y > 3)"),
        ("A.x = B.x AND A.v IN (1, 2)", "A.x = B.x AND A.v IN (1, 2, 3)"),
        ("A.x = B.x AND (A.v = 1 OR A.y = 1 AND B.v = 1)", "A.x = B.x AND (A.v = 1 OR A.y = 1) AND B.v = 1"),
    ],
)
def test_conditions_that_say_something_else_are_told_apart(one, other):
    """However little it is."""
    queries = [eddy.Query(dict.fromkeys("ABC", NUMBERS), text, cross=True) for text in (one, other)]
    for first, second in (queries, reversed(queries)):
        with pytest.raises(eddy.StateError, match=r"only (it|the snapshot) has the predicate "):
            check_same(saved(first), second, "path")


def test_columns_may_be_declared_in_another_order(tmp_path):
    """And so may what is subtracted, and by which of two columns first."""
    streams = dict.fromkeys("AB", NUMBERS)
    queries = [
        (eddy.Query(s, "A.x = B.x AND A.y < B.y", "A.v, B.z"), eddy.Query(s, minus={"B": on}, select="A.v"))
        for s, on in (
            (streams, "A.x = B.x AND A.x = B.y"),
            ({name: dict(reversed(NUMBERS.items())) for name in "AB"}, "B.y = A.x AND A.x = B.x"),
        )
    ]
    for one, other in zip(*queries, strict=True):
        engine = eddy.Eddy(one)
        engine.push("A", {name: [1, 2, 3] for name in NUMBERS})
        engine.save(tmp_path / "one.eddy")
        row = {name: [2] for name in NUMBERS} | {"y": [2 if one.minus else 9]}
        found = eddy.Eddy.load(tmp_path / "one.eddy", other).push("B", row)
        assert found.rows.tolist() == engine.push("B", row).rows.tolist() != []


def test_what_is_given_to_load_is_checked(tmp_path):
    """As by the engine itself."""
    plain().save(tmp_path / "engine.eddy")
    for options in ({"plan": "(A"}, {"batch_size": 0}, {"routing": Fixed}, {"query": "SELECT"}):
        with pytest.raises(eddy.EddyError):
            eddy.Eddy.load(tmp_path / "engine.eddy", **options)
    for path in (None, 3, "", b"engine.eddy", io.BytesIO()):
        with pytest.raises(eddy.StateError, match="give its path"):
            plain().save(path)
        with pytest.raises(eddy.StateError, match="give its path"):
            eddy.Eddy.load(path)


DECLARED = {
    "B": eddy.Stream({"ts": "int64", "k": "int64", "v": "int32"}, eddy.Range(5)),
    "A": eddy.Stream({"ts": "int64", "k": "uint64", "j": "int64", "name": "string"}, eddy.Rows(3)),
}


def declared(*names):
    return {name: DECLARED[name] for name in names}


def saved(query):
    """What a snapshot holds of the query, once written and read."""
    return json.loads(json.dumps(describe(query)))


QUERIES = {
    "join": eddy.Query(declared("B", "A"), "A.k = B.k", ["A.name AS n", "B.v"]),
    "difference": eddy.Query(
        declared("B", "A"), "B.v > 3", "name", minus={"B": "A.k = B.k AND A.j = B.v AND A.k = B.v"}
    ),
    "groups": eddy.Query(
        declared("B", "A"), "A.k = B.k", group_by=["name", "A.j"], aggregates={"n": "COUNT(*)", "m": "MAX(v)"}
    ),
    "one group": eddy.Query(declared("B", "A"), "A.k = B.k", aggregates={"COUNT(*)": "COUNT(*)"}),
    "groups of a difference": eddy.Query(
        declared("B", "A"), minus={"B": "A.k = B.k"}, group_by="name", aggregates={"s": "SUM(j)"}
    ),
}


@pytest.mark.parametrize("kind", QUERIES)
def test_every_kind_of_query_is_rebuilt(kind):
    """A query is made anew from what was saved of it, the order of its streams included."""
    query = QUERIES[kind]
    again = rebuilt(saved(query), "path")
    assert again.streams == query.streams
    assert again.names == query.names == ("B", "A")  # in a difference the text has A first
    for part in ("predicates", "base", "minus", "group_by", "aggregates", "select", "outputs", "edges"):
        assert getattr(again, part) == getattr(query, part), part
    assert [str(c) for c in again.key_classes] == [str(c) for c in query.key_classes]
    assert [c.kind for c in again.key_classes] == [c.kind for c in query.key_classes]
    assert describe(again) == describe(query)
    check_same(saved(query), query, "path")
    check_same(saved(query), again, "path")


@pytest.mark.parametrize("one", QUERIES)
@pytest.mark.parametrize("other", QUERIES)
def test_kinds_are_told_apart(one, other):
    """Only the query that was saved is taken."""
    if one == other:
        check_same(saved(QUERIES[one]), QUERIES[other], "path")
    else:
        with pytest.raises(eddy.StateError, match="the query is not the one of the snapshot 'path': "):
            check_same(saved(QUERIES[one]), QUERIES[other], "path")


@pytest.mark.parametrize("kind", QUERIES)
def test_snapshots_from_before_differences_and_aggregates(kind):
    """Their description lacks these parts: they are joins, are rebuilt as such, and no other query is taken."""
    old = saved(QUERIES["join"])
    for part in ("minus", "group_by", "aggregates"):
        del old[part]
    assert str(rebuilt(old, "path")) == str(QUERIES["join"])
    for described in (old, {**old, "functions": ["own(A.k)"]}):  # the latter is compared as it is
        if kind == "join":
            check_same(described, QUERIES[kind], "path")
        else:
            with pytest.raises(eddy.StateError, match="the query is not the one"):
                check_same(described, QUERIES[kind], "path")


def difference(minus, streams=("B", "A"), **rest):
    return eddy.Query(declared(*streams), minus=minus, **rest)


MINUS = {"B": ["A.k = B.k", "A.j = B.v"]}


@pytest.mark.parametrize(
    ("query", "message"),
    [
        (difference({"B": "B.v = A.j AND A.k = B.k"}), None),
        (difference({"B": "A.k = B.k"}), r"only it subtracts B by A\.k = B\.k"),
        (eddy.Query(declared("B", "A"), ["A.k = B.k", "A.j = B.v"], "A.*"), r"only it has the predicate A\.k = B\.k"),
        (difference(MINUS, ("A", "B")), "its streams are A, B, the snapshot's B, A"),
        (difference(MINUS, select="A.k"), r"it selects A\.k, the snapshot A\.ts, A\.k, A\.j, A\.name"),
        (difference(MINUS, where="B.v > 1"), r"only it has the predicate B\.v > 1"),
        (difference(MINUS, group_by="A.k AS key", aggregates={"n": "COUNT(*)"}),
         r"it selects A\.k AS key, COUNT\(\*\) AS n, the snapshot A\.ts"),
    ],
)  # fmt: skip
def test_another_difference_is_refused(query, message):
    """The order of conditions does not matter; everything else does, and the error says what differs."""
    described = saved(difference(MINUS))
    if message is None:
        check_same(described, query, "path")
    else:
        with pytest.raises(eddy.StateError, match=message):
            check_same(described, query, "path")


def test_the_order_of_subtracted_streams_does_not_matter():
    """B is subtracted before C or after it: the query is the same."""
    streams = {"A": {"k": "int64"}, "B": {"k": "int64"}, "C": {"k": "int64"}}
    minus = {"B": "A.k = B.k", "C": "A.k = C.k"}
    query = eddy.Query(streams, minus=minus)
    check_same(saved(query), eddy.Query(streams, minus=dict(reversed(minus.items()))), "path")


@pytest.mark.parametrize(
    ("aggregates", "message"),
    [
        ({"n": "COUNT(*)", "s": "SUM(B.v)"}, None),
        ({"n": "COUNT(*)", "s": "AVG(B.v)"}, r"selects A\.j, COUNT\(\*\) AS n, AVG\(B\.v\) AS s, the snapshot A\.j, C"),
        ({"s": "SUM(B.v)", "n": "COUNT(*)"}, r"selects A\.j, SUM\(B\.v\) AS s, COUNT\(\*\) AS n, the snapshot"),
        ({"n": "COUNT(*)", "SUM(B.v)": "SUM(B.v)"}, r"selects A\.j, COUNT\(\*\) AS n, SUM\(B\.v\), the snapshot"),
    ],
)  # fmt: skip
def test_other_aggregates_are_refused(aggregates, message):
    """Aggregates are the same by name, function, column and order."""
    queries = [
        eddy.Query(declared("B", "A"), "A.k = B.k", group_by="A.j", aggregates=chosen)
        for chosen in ({"n": "COUNT(*)", "s": "SUM(B.v)"}, aggregates)
    ]
    if message is None:
        check_same(saved(queries[0]), queries[1], "path")
    else:
        with pytest.raises(eddy.StateError, match=message):
            check_same(saved(queries[0]), queries[1], "path")

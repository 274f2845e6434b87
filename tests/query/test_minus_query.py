"""Set difference: what `minus` and `EXCEPT ... ON` come to, and what is refused."""

import pickle

import numpy as np
import pytest
from attrs.exceptions import FrozenInstanceError
from hypothesis import given
from hypothesis import strategies as st

from eddy.errors import QueryError
from eddy.intake.intake import stored_columns
from eddy.query.comparisons import Comparison
from eddy.query.expressions import Reference
from eddy.query.minus import Minus
from eddy.query.predicate import predicate
from eddy.query.query import Query, Stream
from eddy.query.sql import sql
from eddy.query.windows import Range, Rows, Tumbling, Unbounded
from eddy.values.types import Column, column_type
from tests.query.test_keys import NUMBERS, TIMES

STREAMS = {
    "A": Stream({"ts": "int64", "id": "int64", "k": "int64", "j": "int64", "v": "float64", "s": "string"}, Rows(10)),
    "B": Stream({"ts": "int64", "k": "int64", "l": "int64", "v": "int64", "s": "string"}, Range(5)),
    "C": {"ts": "int64", "k": "int32", "w": "bool"},
    "order": {"ts": "int64", "a b": "int64"},
}  # fmt: skip


def streams(names):
    return {name: STREAMS[name] for name in names}


def test_parts():
    """A difference has a base, the streams that are subtracted from it with their keys, and filters."""
    query = Query(
        streams("ABC"), ["A.v > 3 AND B.v != 2", "C.w"], minus={"B": "A.k = B.k AND B.l = A.j", "C": "C.k = A.k"}
    )  # fmt: skip
    assert query.base == "A"
    assert query.minus == (
        Minus("B", (("k", "k"), ("j", "l")), (0, 1)),
        Minus("C", (("k", "k"),), (0,)),
    )
    assert [str(c) for c in query.key_classes] == ["A.k = B.k = C.k", "A.j = B.l"]
    assert {s: str(f) for s, f in query.filters.items()} == {"A": "A.v > 3", "B": "B.v != 2", "C": "C.w"}
    assert query.residuals == ()
    assert query.names == ("A", "B", "C")
    assert query.window_table()[0].tolist() == [1, 2, 0]
    assert set(query.edges) == {frozenset("AB"), frozenset("AC")}
    assert [o.name for o in query.select] == ["A.ts", "A.id", "A.k", "A.j", "A.v", "A.s"]


def test_a_join_has_no_base():
    """Without minus nothing is subtracted."""
    query = Query(streams("AB"), "A.k = B.k")
    assert (query.base, query.minus) == (None, ())


def test_inner_streams_never_meet():
    """`A.k = B.k` and `A.k = C.k` connect A with each, but not B with C, and constants do not spread."""
    query = Query(streams("ABC"), ["A.k = 5", "B.k > 1"], minus={"B": "A.k = B.k", "C": "A.k = C.k"})
    assert {s: str(f) for s, f in query.filters.items()} == {"A": "A.k = 5", "B": "B.k > 1"}
    assert query.connected("ABC") and query.connected("AC") and query.connected("B")
    assert not query.connected("BC")


def test_the_base_may_stand_anywhere():
    """The base is the stream that minus leaves out; declaration and minus have orders of their own."""
    query = Query(
        streams("CAB"), minus={"B": ["A.k = B.k", "A.j = B.l"], "C": "A.k = C.k"}, select="A.id, v AS worth"
    )
    assert (query.base, query.names) == ("A", ("C", "A", "B"))
    assert [m.stream for m in query.minus] == ["B", "C"]
    assert query.key_classes[0].members == {"C": "k", "A": "k", "B": "k"}
    assert [(o.name, o.stream, o.column) for o in query.select] == [("A.id", "A", "id"), ("worth", "A", "v")]
    assert [(name, str(kind)) for name, kind in query.outputs] == [("A.id", "int64"), ("worth", "float64")]
    assert stored_columns(query) == {"A": {"id", "v", "k", "j"}, "B": {"k", "l"}, "C": {"k"}}


def test_columns_that_repeat():
    """A second column beside the same one of the base is a filter; a second one of the base is a key of its own."""
    query = Query(streams("AB"), minus={"B": "A.k = B.k AND A.k = B.l AND B.k = A.k"})
    assert query.minus == (Minus("B", (("k", "k"), ("k", "l")), (0,)),)
    assert {s: str(f) for s, f in query.filters.items()} == {"B": "B.k = B.l"}
    query = Query(streams("AB"), minus={"B": "A.k = B.k AND A.j = B.k"})
    assert query.minus == (Minus("B", (("k", "k"), ("j", "k")), (0, 1)),)
    assert query.filters == {}


def test_constants():
    """What can never hold keeps out the rows of the base, not those that are subtracted."""
    query = Query(streams("BA"), "1 > 2", minus={"B": "A.k = B.k"})
    assert list(query.filters) == ["A"]
    assert Query(streams("BA"), "1 < 2", minus={"B": "A.k = B.k"}).filters == {}


def test_a_function_may_filter():
    """A predicate of the user's own may stand in where, on one stream."""
    query = Query(streams("AB"), [predicate(lambda v: v > 3, "B.v")], minus={"B": "A.k = B.k"})
    assert query.filters["B"].holds(lambda stream, column: Column(np.array([3, 4])), 2).tolist() == [
        False,
        True,
    ]


def test_values():
    """What a query is made of cannot be changed, and survives pickling."""
    query = Query(streams("AB"), minus={"B": "A.k = B.k"})
    with pytest.raises(FrozenInstanceError):
        query.minus[0].stream = "C"
    copy = pickle.loads(pickle.dumps(query))
    assert (copy.base, copy.minus, str(copy)) == (query.base, query.minus, str(query))


@pytest.mark.parametrize(
    ("base", "inner", "classes"),
    [
        ("int64", ["int64", "int8", "uint64", "float64", "bool"], [(0,)] * 5),
        ("uint64", ["uint64", "int64", "uint8", "float64"], [(0,), (1,), (0,), (0,)]),
        ("uint8", ["uint8", "uint64", "int8"], [(0,), (1,), (0,)]),
        ("float64", ["float32", "int64", "uint64", "float64"], [(0,), (1,), (2,), (0,)]),
        ("bool", ["bool", "uint64", "float32"], [(0,), (1,), (0,)]),
        ("timestamp[s]", ["timestamp[s]", "timestamp[ns]", "timestamp[ms]", "timestamp[s]"], [(0,), (1,), (2,), (0,)]),
        ("timestamp[ns, UTC]", ["timestamp[s, UTC]", "timestamp[ns, Europe/Berlin]"], [(0,), (0,)]),
        ("string", ["string", "string"], [(0,), (0,)]),
    ],
)  # fmt: skip
def test_shared_classes(base, inner, classes):
    """Streams share a class of the same column of the base where their keys are encoded alike in it."""
    declared = {"A": {"x": base}} | {f"S{i}": {"x": kind} for i, kind in enumerate(inner)}
    query = Query(declared, minus={f"S{i}": f"A.x = S{i}.x" for i in range(len(inner))})
    assert [m.classes for m in query.minus] == classes


def rows(draw, kinds):
    """Columns of a stream: x has every edge of its type, y some of its own; NULL here and there."""
    edges = {name: (NUMBERS | TIMES)[kind] for name, kind in kinds.items()}
    count = len(edges["x"])
    edges["y"] = draw(st.lists(st.sampled_from(edges["y"]), min_size=count, max_size=count))
    columns = {}
    for name, kind in kinds.items():
        nulls = draw(st.sets(st.integers(0, count - 1), max_size=2))
        valid = np.array([i not in nulls for i in range(count)]) if nulls else None
        columns[name] = Column(np.array(edges[name], column_type(kind).dtype), valid)
    return count, columns


def matched_by_conditions(query, minus, left, right):
    """For each row of the base whether a row on the right satisfies the condition: nested loops."""
    found = []
    for i in range(left[0]):
        row = {name: column.take(np.full(right[0], i)) for name, column in left[1].items()}
        columns = {query.base: row, minus.stream: right[1]}
        holds = np.ones(right[0], bool)
        for ours, theirs in minus.on:
            sides = [
                Reference(stream, column, query.streams[stream].columns[column])
                for stream, column in ((query.base, ours), (minus.stream, theirs))
            ]
            holds &= Comparison("=", *sides).holds(lambda s, c, columns=columns: columns[s][c], right[0])
        found.append(bool(holds.any()))
    return found


def keys_of(query, minus, stream, count, columns):
    """The composite key of each row by the classes of a subtracted stream; None where it matches nothing."""
    parts = []
    for index in minus.classes:
        key_class = query.key_classes[index]
        column = columns[key_class.members[stream]]
        keys, valid = key_class.encode(stream, column.values, column.valid)
        parts.append([k if valid is None or valid[i] else None for i, k in enumerate(keys.tolist())])
    kept = [True] * count
    if stream != query.base and stream in query.filters:
        kept = query.filters[stream].holds(lambda _, column: columns[column], count).tolist()
    together = list(zip(*parts, strict=True))
    return [key if kept[i] and None not in key else None for i, key in enumerate(together)]


@given(
    st.sampled_from([sorted(NUMBERS), ["timestamp[s]", "timestamp[ms]"], ["timestamp[ns, UTC]"]]), st.data()
)
def test_keys_mean_the_conditions(family, data):
    """A live row is matched by the keys exactly when it is by the conditions, whatever the types and NULLs."""
    draw = data.draw
    kinds = {
        name: {column: draw(st.sampled_from(family)) for column in "xy"} for name in ("A", "B", "C", "D")
    }
    condition = st.lists(st.tuples(st.sampled_from("xy"), st.sampled_from("xy")), min_size=1, max_size=3)
    conditions = {name: draw(condition) for name in "BCD"}
    query = Query(
        kinds,
        minus={name: [f"A.{a} = {name}.{b}" for a, b in pairs] for name, pairs in conditions.items()},
    )
    left = rows(draw, kinds["A"])
    for minus in query.minus:
        right = rows(draw, kinds[minus.stream])
        theirs = {key for key in keys_of(query, minus, minus.stream, *right) if key is not None}
        by_keys = [key in theirs for key in keys_of(query, minus, "A", *left)]
        assert by_keys == matched_by_conditions(query, minus, left, right)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"minus": ["B"]}, "minus takes a dict of streams and conditions"),
        ({"minus": {}}, "minus is empty: name the streams to subtract"),
        ({"minus": {"X": "A.k = B.k"}}, "minus names an unknown stream X"),
        ({"minus": {"B": "A.k = B.k"}}, "one stream that the others are subtracted from, not A and C"),
        ({"minus": dict.fromkeys("ABC", "A.k = B.k")}, "every stream is in minus: leave out the one"),
        ({"B": ""}, "must be a text such as"),
        ({"B": 3}, r"a condition for B, such as 'A\.k = B\.k', not 3"),
        ({"B": []}, r"no condition for B: write equalities of columns, joined by AND, such as A\.k = B\.k"),
        ({"B": "A.k ="}, "cannot read"),
        ({"B": "A.k = B.z"}, "stream B has no column z"),
        ({"B": "A.s = B.k"}, "cannot compare"),
        ({"B": "A.k < B.k"}, r"cannot subtract B by A\.k < B\.k: write equalities"),
        ({"B": "A.k + 1 = B.k"}, r"cannot subtract B by A\.k \+ 1 = B\.k"),
        ({"B": "A.k = B.k OR A.j = B.l"}, "cannot subtract B by"),
        ({"B": "A.k = B.k AND TRUE"}, "cannot subtract B by TRUE"),
        ({"B": "A.k = B.k AND B.v > 3"}, r"B\.v > 3 of B is about B alone: a filter goes into where"),
        ({"B": "A.k = A.j"}, "is about A alone"),
        ({"B": "A.k = C.k"}, "names C: each stream is compared with A alone"),
        ({"C": "B.k = C.k"}, "names B: each stream is compared with A alone"),
        ({"B": predicate(lambda a, b: a == b, "A.k", "B.k")}, "a function cannot be the condition of B"),
        ({"where": "A.id = B.v"}, r"A\.id = B\.v is between streams, .* go into minus"),
        ({"where": "B.k < C.k"}, "between streams"),
        ({"where": predicate(lambda a, b: a == b, "A.k", "B.k")}, "between streams"),
        ({"select": "B.k"}, "B is subtracted, so a result has no column of it: name columns of A"),
        ({"select": ["A.id", "C.*"]}, "C is subtracted"),
        ({"select": "w"}, "C is subtracted"),
        ({"select": "A.z"}, "stream A has no column z"),
        ({"select": "z"}, "no stream has a column z"),
        ({"cross": True}, "a difference combines no rows: leave cross out"),
    ],
)  # fmt: skip
def test_refused(arguments, message):
    """A difference that means nothing is refused when it is made, and the message says what to do."""
    minus = {"B": "A.k = B.k", "C": "A.k = C.k"}
    changed = {name: arguments[name] for name in arguments if name in minus}
    rest = {name: value for name, value in arguments.items() if name not in minus}
    with pytest.raises(QueryError, match=message):
        Query(**{"streams": streams("ABC"), "minus": minus | changed} | rest)


def test_sql():
    """EXCEPT ... ON, with windows, filters and aliases, gives the difference that Python would build."""
    query = sql(
        """SELECT A.id FROM A [ROWS 10] EXCEPT B [ROWS 5] ON A.k = B.k AND A.j = B.l
           EXCEPT C AS later [TUMBLING 5] ON later.k = A.k WHERE A.v > 3 AND later.w""",
        STREAMS,
    )
    assert query.names == ("A", "B", "later")
    assert [s.window for s in query.streams.values()] == [Rows(10), Rows(5), Tumbling(time=5)]
    assert (query.base, [m.stream for m in query.minus]) == ("A", ["B", "later"])
    assert [m.on for m in query.minus] == [(("k", "k"), ("j", "l")), (("k", "k"),)]
    assert {s: str(f) for s, f in query.filters.items()} == {"A": "A.v > 3", "later": "later.w"}
    assert [o.name for o in query.select] == ["A.id"]


@pytest.mark.parametrize(
    "text",
    [
        "select A.k from A except B on A.k = B.k",
        "SELECT k FROM A EXCEPT B USING (k)",
        "SELECT A.k FROM A EXCEPT /* EXCEPT C */ B -- EXCEPT\n ON A.k = B.k",
        "SELECT A.k FROM A EXCEPT \"B\" [UNBOUNDED] ON (B.k) = A.k WHERE A.s != 'EXCEPT SELECT'",
    ],
)
def test_ways_to_write_it(text):
    """Case, comments, quotes and USING make no difference; * means the columns of the base."""
    query = sql(text, STREAMS)
    assert (query.base, query.minus) == ("A", (Minus("B", (("k", "k"),), (0,)),))
    assert [o.column for o in query.select] == ["k"]


def test_except_with_itself():
    """An alias lets a stream be subtracted from itself."""
    query = sql("SELECT * FROM A EXCEPT A AS a2 [ROWS 3] ON A.k = a2.j", STREAMS)
    assert query.minus == (Minus("a2", (("k", "j"),), (0,)),)
    assert len(query.select) == 6


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("SELECT A.k FROM A EXCEPT B", r"EXCEPT B has no condition: write FROM A EXCEPT B ON A\.k = B\.k"),
        ("SELECT A.k FROM A EXCEPT B EXCEPT C ON A.k = C.k", "EXCEPT B has no condition"),
        ("SELECT A.k FROM A EXCEPT VALUES (1)", "EXCEPT VALUES is not supported: write FROM A EXCEPT B ON"),
        ("SELECT A.k FROM A EXCEPT (VALUES (1))", r"EXCEPT \(\.\.\.\) is not supported"),
        ("SELECT A.k FROM A EXCEPT ALL SELECT B.k FROM B", "EXCEPT ALL is not supported"),
        ("SELECT * EXCEPT (k) FROM A, B WHERE A.k = B.k", r"EXCEPT \(\.\.\.\) is not supported"),
        ("SELECT A.k FROM A WHERE A.v > 3 EXCEPT B ON A.k = B.k", "EXCEPT stands behind WHERE, but belongs to FROM"),
        ("SELECT k, COUNT(*) FROM A GROUP BY k EXCEPT B ON A.k = B.k", "EXCEPT stands behind GROUP"),
        ("SELECT A.k FROM A EXCEPT", r"near 'SELECT A\.k FROM A EXCEPT': .*the end; for a difference write FROM"),
        ("SELECT A.k FROM A [ROWS 5] EXCEPT B ONN A.k = B.k", r"near '.*\[ROWS 5\] EXCEPT B ONN A'.* write FROM"),
        ("SELECT A.k FROM A LEFT EXCEPT B ON A.k = B.k", "LEFT EXCEPT is not supported"),
        ("SELECT A.k FROM A EXCEPT B USING (j)", "stream B has no column j"),
        ("SELECT A.k FROM A EXCEPT B ON A.k = B.k AND B.v > 1", "a filter goes into where"),
        ("SELECT A.k FROM A EXCEPT B ON A.k > B.k", "cannot subtract B by"),
        ("SELECT A.k FROM A EXCEPT B ON A.k = B.k WHERE A.v = B.v", "in SQL behind EXCEPT"),
        ("SELECT B.k FROM A EXCEPT B ON A.k = B.k", "B is subtracted"),
        ("SELECT A.k FROM A EXCEPT A ON A.k = A.k", "named twice"),
        ("SELECT A.k FROM (SELECT * FROM A) AS A EXCEPT B ON A.k = B.k WHERE B.v = 1", "B is subtracted"),
        ("SELECT A.k FROM A EXCEPT B ON A.k IN (SELECT k FROM B)", "stand in WHERE"),
        ("SELECT A.k FROM A EXCEPT B ON A.k = B.k [ROWS 5]", "stands behind no stream"),
        ("SELECT A.k FROM A EXCEPT D ON A.k = D.k", "no schema for stream D"),
        ("SELECT A.k FROM A EXCEPT B ON A.k = B.k LIMIT 3", "LIMIT is not supported"),
    ],
)  # fmt: skip
def test_sql_refused(text, message):
    """What is not a chain of differences is refused, and the message says what to write."""
    with pytest.raises(QueryError, match=message):
        sql(text, STREAMS)


def test_printed():
    """A difference prints each stream that is subtracted on a line of its own."""
    query = Query(streams(["B", "A", "order"]), "B.v > 1", "A.id", minus={
        "order": 'A.k = "order"."a b"', "B": ["A.k = B.k", "A.k = B.l"]})  # fmt: skip
    assert str(query).splitlines() == [
        "SELECT A.id",
        "FROM A [ROWS 10]",
        'EXCEPT "order" ON A.k = "order"."a b"',
        "EXCEPT B [RANGE 5] ON A.k = B.k AND A.k = B.l",
        "WHERE B.v > 1",
    ]


windows = st.sampled_from([Rows(3), Range(4), Tumbling(rows=2), Tumbling(time=7), Unbounded()])
on_b = st.lists(
    st.sampled_from(["A.k = B.k", "B.l = A.j", "A.k = B.l", "A.s = B.s"]), min_size=1, unique=True
)


@given(windows, windows, on_b, st.booleans(), st.sampled_from([None, ["A.id AS n"], ["A.*"]]))
def test_round_trip(first, second, condition, both, select):
    """A difference prints as SQL that gives the same difference."""
    declared = {"A": Stream(STREAMS["A"].columns, first), "B": Stream(STREAMS["B"].columns, second)}
    minus = {"B": condition}
    if both:
        declared["order"] = STREAMS["order"]
        minus = {"order": 'A.j = "order"."a b"', **minus}
    query = Query(declared, ["A.v > 1 OR A.s IS NULL", "B.v IN (1, 2)"], select, minus=minus)
    again = sql(str(query), {name: stream.columns for name, stream in query.streams.items()})
    assert str(again) == str(query)
    assert dict(again.streams) == dict(query.streams)
    assert (again.base, again.select, again.predicates) == (query.base, query.select, query.predicates)
    assert [(m.stream, m.on) for m in again.minus] == [(m.stream, m.on) for m in query.minus]

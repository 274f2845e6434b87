"""Which rows of a stream take part beside joins that give rows of the other side: `only`, in SQL ON and subqueries."""

from __future__ import annotations

import pytest

import eddy
from tests.attachments.cases import signed_rows
from tests.attachments.restarts import restarted

COLUMNS = {"k": "int64", "v": "int64"}
STREAMS = {name: eddy.Stream(COLUMNS, window=eddy.Rows(50)) for name in "ABC"}
ROWS = {
    "A": {"k": [1, 2, 3], "v": [5, 1, 5]},
    "B": {"k": [1, 3, 3], "v": [5, 5, 0]},
    "C": {"k": [1, 2, 3, 4], "v": [0, 2, 2, 2]},
}


def given(query, only_of=("A", "B", "C"), **options):
    """What an engine gives of all rows, with its end; it is saved and loaded after each push."""
    engine, results = eddy.Eddy(query, **options), []
    for name in only_of:
        results.append(engine.push(name, ROWS[name]))
        engine = restarted(engine, {})
    return sum(map(signed_rows, [[result] for result in results] + [[engine.close()]]), start=signed_rows([]))


@pytest.mark.parametrize("changes", [False, True])
@pytest.mark.parametrize("kind", [eddy.RightJoin, eddy.FullJoin])
def test_a_row_that_is_left_out_is_nobodys_partner_and_gives_nothing(kind, changes):
    """It is so on both sides of FULL JOIN; WHERE would have ruled out the rows of C that have no partner."""
    query = eddy.Query(
        STREAMS,
        where="A.k = B.k",
        attach=kind("C", "C.k = A.k"),
        only={"B": "B.v > 0", "C": ["C.v > 1", "C.k < 4"]},
        changes=changes,
    )
    wanted = {(None, None, 1): 1, (2, 1, 2): 1}
    wanted |= {(0, 0, None): 1} if kind is eddy.FullJoin else {}
    standing = {}
    for (sign, rows), n in given(query).items():
        standing[rows] = standing.get(rows, 0) + sign * n
    assert {rows: n for rows, n in standing.items() if n} == wanted


def test_it_prints_what_is_read_back():
    """Of one stream as a subquery, of a join as ON; and without RIGHT and FULL JOIN it is WHERE, or ON of the join."""
    full = eddy.FullJoin("C", "C.k = A.k")
    cases = {
        "FROM (SELECT * FROM A [ROWS 50] WHERE A.v > 1) AS A\nFULL JOIN C [ROWS 50] ON C.k = A.k": "AC",
        "FROM A [ROWS 50] JOIN B [ROWS 50] ON A.k = B.k AND A.v > 1\nFULL JOIN C [ROWS 50] ON": "ABC",
    }
    for text, names in cases.items():
        streams = {name: STREAMS[name] for name in names}
        where = ["A.k = B.k"] if "B" in names else []
        query = eddy.Query(streams, where=where, attach=full, only={"A": "A.v > 1"}, select="A.k")
        assert text in str(query)
        again = eddy.sql(str(query), dict.fromkeys(names, COLUMNS))
        assert str(again) == str(query)
        assert list(again.only) == ["A"]
    both = {"A": "A.v > 1", "C": "C.v > 1"}
    left = eddy.Query(
        STREAMS, where="A.k = B.k", attach=eddy.LeftJoin("C", "C.k = A.k"), only=both, select="A.k"
    )
    same = eddy.Query(
        STREAMS,
        where=["A.k = B.k", "A.v > 1"],
        attach=eddy.LeftJoin("C", ["C.k = A.k", "C.v > 1"]),
        select="A.k",
    )
    assert str(left) == str(same)
    assert not left.only


def test_another_one_is_another_query():
    """A snapshot is of the query with the same rows."""

    def query(only):
        return eddy.Query(STREAMS, where="A.k = B.k", attach=eddy.FullJoin("C", "C.k = A.k"), only=only)

    engine = eddy.Eddy(query({"A": "A.v > 1", "C": "C.v > 1"}))
    restarted(engine, {}, query({"A": "1 < A.v", "C": "C.v > 1"}))
    for only, message in {
        "A": r"only it has the predicate A\.v > 2",
        "C": r"of C rows take part by C\.v > 2, in the snapshot by C\.v > 1",
    }.items():
        with pytest.raises(eddy.StateError, match=message):
            restarted(engine, {}, query({"A": "A.v > 1", "C": "C.v > 1", only: f"{only}.v > 2"}))


def test_what_it_cannot_say_is_refused():
    for only, message in {
        "A.v > 1": "only takes a dict",
        ("A", "A.v > B.v"): r"only of A names B",
        ("A", "A.v > 1 AND C.v = 1"): r"only of A names C",
        ("D", "A.v > 1"): "unknown stream D",
    }.items():
        with pytest.raises(eddy.QueryError, match=message):
            eddy.Query(
                STREAMS,
                where=["A.k = B.k", "B.k = C.k"],
                only=dict([only]) if isinstance(only, tuple) else only,
            )

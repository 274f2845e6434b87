"""Which query a snapshot belongs to, and what may be given when it is loaded."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

import eddy
from policies import Fixed
from tests.cases import within_two
from tests.snapshots import plain

ROOT = Path(__file__).parents[1]


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

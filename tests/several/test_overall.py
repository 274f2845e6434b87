"""What all queries of an engine hold together."""

from __future__ import annotations

import eddy

SCHEMAS = {name: {"ts": "int64", "k": "int64"} for name in "ABC"}


def made(text):
    return eddy.sql(text, schemas=SCHEMAS)


def test_streams_are_counted_once():
    """However many queries there are: rows, those of the longest window, times."""
    engine = eddy.Eddy(
        {
            "short": made("SELECT A.k FROM A [RANGE 2], B [RANGE 2] WHERE A.k = B.k"),
            "long": made("SELECT A.k FROM A [RANGE 5], B [RANGE 5] WHERE A.k = B.k"),
            "other": made("SELECT C.k FROM C [RANGE 2], B [RANGE 2] WHERE C.k = B.k"),
        }
    )
    engine.push_all({"A": {"ts": [1, 4, 9], "k": [1, 1, 1]}, "B": {"ts": [6], "k": [1]}})
    found = engine.overall()
    assert [(s.name, s.rows, s.live) for s in found.streams] == [("A", 3, 2), ("B", 1, 1), ("C", 0, 0)]
    assert [(s.newest, s.lag) for s in found.streams] == [(9, 0), (6, 3), (None, None)]
    assert (found.events, found.watermark, found.migrations) == (4, 9, 0)
    assert found.bytes == engine.nbytes and found.memory is None
    engine.migrate("B A", query="short")
    assert engine.overall().migrations == 1
    last = engine.overall()
    engine.close()
    assert engine.overall() == last
    assert eddy.Eddy({}).overall().streams == ()


def test_changes_of_plan_are_counted_when_their_queries_are_gone(tmp_path):
    """The count never falls, through a snapshot either."""
    text = "SELECT A.k FROM A [RANGE 2], B [RANGE 2] WHERE A.k = B.k"
    engine = eddy.Eddy({"short": made(text), "long": made(text.replace("2", "5")), "again": made(text)})
    for name in ("short", "long"):
        engine.migrate("B A", query=name)
    assert engine.overall().migrations == 2
    engine.drop("short")
    engine.drop("long")
    assert engine.overall().migrations == 2
    engine.drop("again")
    assert engine.overall().migrations == 2
    engine.save(tmp_path / "none.eddy")
    assert eddy.Eddy.load(tmp_path / "none.eddy").overall().migrations == 2


def test_rows_that_wait_and_late_ones_are_counted():
    """There is one watermark for all queries."""
    query = made("SELECT A.k FROM A [RANGE 5], B [RANGE 5] WHERE A.k = B.k")
    engine = eddy.Eddy({"one": query, "two": query}, lateness=2, late="drop")
    engine.push_all({"A": {"ts": [1, 9], "k": [1, 1]}, "B": {"ts": [8], "k": [1]}})
    engine.push("A", {"ts": [2], "k": [1]})
    streams = {stream.name: stream for stream in engine.overall().streams}
    assert engine.overall().watermark == 6
    assert (streams["A"].late, streams["A"].waiting, streams["A"].watermark) == (1, 1, 7)
    assert (streams["B"].late, streams["B"].waiting, streams["B"].watermark) == (0, 1, 6)

"""Several queries and time: rows out of order, promises, and the end."""

from __future__ import annotations

import random

import pytest

import eddy
from tests.several.worlds import columns, made, records

QUERIES = {
    "join": "SELECT A.v, B.s FROM A [RANGE 10], B [RANGE 10] WHERE A.x = B.x",
    "filtered": "SELECT A.v, B.s FROM A [RANGE 10], B [RANGE 10] WHERE A.x = B.x AND A.v > 4",
    "other": "SELECT B.v, C.s FROM B [RANGE 6], C [ROWS 3] WHERE B.y = C.y",
    "left": "SELECT A.v, B.s FROM A [RANGE 5] LEFT JOIN B [RANGE 5] ON A.x = B.x",
    "counted": "SELECT A.s, COUNT(*) AS n FROM A [RANGE 10], B [RANGE 10] WHERE A.x = B.x GROUP BY A.s",
}


def feed(seed, n=300):
    """Rows in order of time, no two at one time: (time, stream, row)."""
    pick = random.Random(seed)
    found = []
    for ts in range(n):
        row = {"ts": ts, "x": pick.randrange(3), "y": pick.randrange(3), "v": pick.randrange(10)}
        found.append((ts, pick.choice("ABC"), {**row, "s": pick.choice("abc")}))
    return found


def pushed(engine, rows, size=7):
    """All results of these rows, by query."""
    found = {name: [] for name in engine.queries}

    def keep(results):
        for name, result in results.items():
            found[name] += records(result)

    for start in range(0, len(rows), size):
        batch = {}
        for _, stream, row in rows[start : start + size]:
            batch.setdefault(stream, []).append(row)
        keep(engine.push_all({stream: columns(stream, of) for stream, of in batch.items()}))
    keep(engine.close())
    return {name: sorted(lines) for name, lines in found.items()}


@pytest.mark.parametrize("seed", range(4))
def test_rows_out_of_order_give_what_sorted_rows_give(seed):
    """Within the lateness, the order of arrival changes no result of any query."""
    queries = {name: made(text) for name, text in QUERIES.items() if name != "counted"}
    rows = feed(seed)
    jittered = sorted(rows, key=lambda item: item[0] + random.Random(f"{seed} {item[0]}").randrange(12))
    wanted = pushed(eddy.Eddy(queries), rows, 1)
    assert pushed(eddy.Eddy(queries, lateness=12), jittered) == wanted


def test_late_rows_are_kept_for_all_queries():
    """A row behind the watermark is handed out once, and no query sees it."""
    engine = eddy.Eddy({"join": made(QUERIES["join"])}, lateness=2, late="keep")
    for ts in (10, 20, 3):
        engine.push("A", columns("A", [{"ts": ts, "x": 1, "y": 1, "v": 1, "s": "a"}]))
        engine.push("B", columns("B", [{"ts": max(ts, 20), "x": 1, "y": 1, "v": 1, "s": "a"}]))
    assert engine.late()["A"].column("ts").to_pylist() == [3]
    assert engine.late() == {}


def test_a_stream_that_is_new_joins_the_buffer():
    """A query that brings a stream in while rows wait loses none of them."""
    queries = {name: made(QUERIES[name]) for name in ("join", "other")}
    rows = feed(9)
    first = [row for row in rows if row[1] != "C"][:100]
    engine = eddy.Eddy({"join": queries["join"]}, lateness=5)
    alone = eddy.Eddy(queries["join"], lateness=5)
    found, wanted = [], []
    for at, (_, stream, row) in enumerate(first):
        found += records(engine.push(stream, columns(stream, [row]))["join"])
        wanted += records(alone.push(stream, columns(stream, [row])))
        if at == 50:
            engine.add("other", queries["other"])
    found += records(engine.close()["join"])
    wanted += records(alone.close())
    assert sorted(found) == sorted(wanted)


def test_time_that_is_promised_ends_rows_of_every_query():
    """advance() withdraws and gives what each query's own engine withdraws and gives."""
    queries = {name: made(text) for name, text in QUERIES.items()}
    engine = eddy.Eddy(queries, retractions=True)
    alone = {name: eddy.Eddy(query, retractions=True) for name, query in queries.items()}
    for at, (ts, stream, row) in enumerate(feed(5, 120)):
        if at % 10 == 9:
            given = engine.advance(ts)
            for name, one in alone.items():
                assert records(given[name]) == records(one.advance(ts)), name
        given = engine.push(stream, columns(stream, [row]))
        for name, one in alone.items():
            if stream in one.query.streams:
                assert records(given[name]) == records(one.push(stream, columns(stream, [row]))), name


def test_memory_is_a_budget_of_all():
    """Under a budget every query gives the same."""
    queries = {
        "three": made("SELECT A.v FROM A [ROWS 60], B [ROWS 60], C [ROWS 60] WHERE A.x = B.x AND B.y = C.y"),
        "again": made("SELECT C.v FROM A [ROWS 50], B [ROWS 50], C [ROWS 50] WHERE A.x = B.x AND B.y = C.y"),
    }
    rows = feed(11, 400)
    assert pushed(eddy.Eddy(queries, memory=200_000), rows) == pushed(eddy.Eddy(queries), rows)


def test_an_engine_of_several_says_what_it_is_asked_without_a_name():
    """Plans, statistics and the like are by query; what needs one says so."""
    engine = eddy.Eddy({name: made(text) for name, text in QUERIES.items()})
    assert engine.plan.keys() == QUERIES.keys() == engine.statistics().keys() == engine.decisions.keys()
    assert "join, filtered, counted: 3 queries, one core" in engine.explain()
    with pytest.raises(eddy.EddyError, match="say which query is meant"):
        engine.migrate("A B")


def test_why_not_names_the_filter_of_the_query():
    """A row that another query wants may be ruled out by this one's filter."""
    engine = eddy.Eddy({name: made(QUERIES[name]) for name in ("join", "filtered")})
    engine.push("A", columns("A", [{"ts": 1, "x": 1, "y": 1, "v": 3, "s": "a"}]))
    engine.push("B", columns("B", [{"ts": 2, "x": 1, "y": 1, "v": 3, "s": "a"}]))
    assert engine.why(query="join", A=0, B=0).verdict == "result"
    told = engine.why_not(query="filtered", A=0, B=0)
    assert told.verdict == "filtered" and "A.v > 4" in str(told)


def test_an_engine_of_one_query_says_how_to_have_several():
    """add and drop are for engines of several."""
    engine = eddy.Eddy(made(QUERIES["join"]))
    with pytest.raises(eddy.EddyError, match="queries come and go in"):
        engine.add("more", made(QUERIES["other"]))
    with pytest.raises(eddy.EddyError, match="queries come and go in"):
        engine.drop("more")


def test_panes_of_rows_begin_where_the_stream_does():
    """A query that is added later has panes that begin at multiples of their length, counted from row 0."""
    text = "SELECT A.v FROM A [ROWS 100], B [TUMBLING 4 ROWS] WHERE A.x = B.x"
    engine = eddy.Eddy({"all": made("SELECT A.v FROM A [ROWS 100], B [ROWS 3] WHERE A.x = B.x")})
    row = {"x": 1, "y": 1, "v": 1, "s": "a"}
    for ts in range(6):
        engine.push("B", columns("B", [{"ts": ts, **row}]))
    engine.add("panes", made(text))
    counts = []
    for ts in range(6, 11):
        counts.append(len(engine.push("A", columns("A", [{"ts": ts, **row}]))["panes"]))
        engine.push("B", columns("B", [{"ts": ts, **row}]))
    assert counts == [2, 3, 4, 1, 2]


def test_parts_of_results_are_of_one_query():
    """`max_rows` is refused in a line."""
    engine = eddy.Eddy({"join": made(QUERIES["join"])})
    with pytest.raises(eddy.EddyError, match=r"one query"):
        engine.push("A", columns("A", [{"ts": 1, "x": 1, "y": 1, "v": 1, "s": "a"}]), max_rows=2)


def test_what_it_was_made_with_can_be_asked():
    """Options are those that were given; policies are by query."""
    engine = eddy.Eddy({"join": made(QUERIES["join"])}, batch_size=100, seed=3)
    assert (engine.batch_size, engine.seed, engine.threads, engine.joins) == (100, 3, 1, "hash")
    assert (engine.retractions, engine.advise) == (False, False)
    for asked in (engine.routing, engine.migration, engine.feedback, engine.log):
        assert asked.keys() == {"join"}
    assert engine.view("join").plan == "A B" and engine.stair("A", query="join").probe([1]) is not None

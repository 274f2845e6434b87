"""What an engine of several queries refuses: one clear error each, and nothing is changed."""

from __future__ import annotations

import pytest

import eddy
from policies import ParallelTrack

SCHEMAS = {
    "A": {"ts": "int64", "k": "int64", "v": "int64"},
    "B": {"ts": "int64", "k": "int64", "v": "int64"},
    "C": {"ts": "int64", "k": "int64"},
}
JOIN = "SELECT A.v, B.v AS w FROM A [ROWS 10], B [ROWS 10] WHERE A.k = B.k"
QUERIES = {
    "join": JOIN,
    "large": f"{JOIN} AND A.v > 5",
    "recent": "SELECT A.v FROM A [RANGE 5], B [RANGE 5] WHERE A.k = B.k",
    "unpaired": "SELECT A.v FROM A [ROWS 10] LEFT JOIN B [ROWS 10] ON A.k = B.k",
    "groups": "SELECT A.k, COUNT(*) AS n FROM A [ROWS 10], B [ROWS 10] WHERE A.k = B.k GROUP BY A.k",
}


def made(text, **others):
    """A query of a statement; ``others`` are streams that are declared otherwise."""
    return eddy.sql(text, schemas={**SCHEMAS, **others})


def row(stream, ts, v=7):
    """One row."""
    found = {"ts": [ts], "k": [1], "v": [v]}
    return {name: found[name] for name in SCHEMAS[stream]}


@pytest.fixture
def engine():
    """Queries that share a core, others that do not; some rows have come."""
    engine = eddy.Eddy({name: made(text) for name, text in QUERIES.items()})
    engine.push_all({"A": row("A", 10), "B": row("B", 11)})
    return engine


def seen(engine):
    """All that can be seen of it."""
    groups = engine.table("groups").to_pydict()
    return engine.queries, engine.plan, engine.statistics(), groups, engine.explain(), engine.nbytes


def refused(engine, what, error, match):
    """It is refused, nothing has changed, and the engine goes on."""
    before = seen(engine)
    with pytest.raises(error, match=match) as found:
        what()
    assert "\n" not in str(found.value)
    assert seen(engine) == before
    assert engine.push("B", row("B", 12)).counts == {
        "join": 1,
        "large": 1,
        "recent": 1,
        "unpaired": 1,
        "groups": 2,
    }


OTHERWISE = {
    "the columns ts int64, k int64, and": {"ts": "int64", "k": "int64"},
    "the columns ts int64, k int32, v int64, and": {"ts": "int64", "k": "int32", "v": "int64"},
    "time='v', and": eddy.Stream(SCHEMAS["A"], time="v"),
    "static=True, and": eddy.Stream(SCHEMAS["A"], static=True),
    "strict=True, and": eddy.Stream(SCHEMAS["A"], strict=True),
    "parse=True, and": eddy.Stream(SCHEMAS["A"], parse=True),
}


@pytest.mark.parametrize("said", OTHERWISE)
def test_a_stream_is_declared_alike_by_all_queries(engine, said):
    """The error names the query, the stream and what differs, whether the query is there at once or added."""
    other = made("SELECT A.k FROM A, B WHERE A.k = B.k", A=OTHERWISE[said])
    match = f"^query other: stream A has {said} other queries"
    refused(engine, lambda: engine.add("other", other), eddy.QueryError, match)
    with pytest.raises(eddy.QueryError, match=match):
        eddy.Eddy({"join": made(JOIN), "other": other})


def test_columns_may_be_declared_in_another_order(engine):
    """They have names."""
    engine.add("other", made("SELECT * FROM A [ROWS 1]", A=dict(reversed(SCHEMAS["A"].items()))))
    found = engine.push("A", row("A", 12))["other"]
    assert found.to_pydict() == {"A.v": [7], "A.k": [1], "A.ts": [12]}


@pytest.mark.parametrize("name", ["join", "", 5, None])
def test_a_query_has_a_name_of_its_own(engine, name):
    """A text that no other query has."""
    match = (
        "there is a query 'join' already: drop it first"
        if name == "join"
        else "a query has a name, which is a text"
    )
    refused(engine, lambda: engine.add(name, made(JOIN)), eddy.EddyError, match)


@pytest.mark.parametrize("query", [JOIN, None, eddy.Query])
def test_what_is_added_is_a_query(engine, query):
    """Nothing else."""
    refused(engine, lambda: engine.add("more", query), eddy.EddyError, "needs an eddy.Query, not ")


@pytest.mark.parametrize("name", ["more", "", 5, None])
def test_a_query_that_is_not_there_is_not_dropped(engine, name):
    """The error says which are."""
    match = "there is no query .*; the queries are: join, large, recent, unpaired, groups$"
    refused(engine, lambda: engine.drop(name), eddy.EddyError, match)


PLANS = {
    "names 'C', which is no stream": (f"{JOIN} AND A.v > 8", "A C"),
    "names 'B', which is no stream": ("SELECT A.v FROM A [ROWS 4], C [ROWS 3] WHERE A.k = C.k", "A B"),
    "lacks 2 closing": ("SELECT A.v FROM A [ROWS 4], C [ROWS 3] WHERE A.k = C.k", "(("),
    "plan": ("SELECT C.k FROM C LEFT JOIN B ON B.k = C.k AND ABS(B.ts - C.ts) <= 5", "no plan"),
}


@pytest.mark.parametrize("said", PLANS)
def test_a_query_whose_plan_is_none_is_not_added(engine, said):
    """Neither to a core that is there nor to one of its own; its streams are not declared then."""
    text, plan = PLANS[said]
    refused(engine, lambda: engine.add("more", made(text), plan), eddy.PlanError, said)
    with pytest.raises(eddy.BatchError, match="no query has a stream 'C'"):
        engine.push("C", row("C", 13))
    engine.add("more", made(text))
    assert list(engine.queries) == [*QUERIES, "more"]


BATCHES = {
    "column 'v' is missing": {"B": {"ts": [12], "k": [1]}},
    "column 'k'": {"A": row("A", 12), "B": {"ts": [12], "k": ["one"], "v": [1]}},
    "time goes back": {"A": row("A", 12), "B": row("B", 3)},
    "time goes back at row 1": {"A": row("A", 12), "B": {"ts": [14, 13], "k": [1, 1], "v": [1, 1]}},
    "no query has a stream 'D': push to one of A, B": {"A": row("A", 12), "D": row("A", 12)},
    "stream B: ": {"A": row("A", 12), "B": 7},
}


@pytest.mark.parametrize("said", BATCHES)
def test_a_bad_batch_is_taken_by_no_query(engine, said):
    """Not by those either that it would suit; the good batches of the same push are not taken."""
    refused(engine, lambda: engine.push_all(BATCHES[said]), eddy.BatchError, said)


def test_a_predicate_of_ones_own_that_fails_leaves_all_as_it_was(engine):
    """An error in a filter of one query is found before another has taken the rows."""

    def risky(values):
        if 13 in values.to_pylist():
            raise ZeroDivisionError("thirteen")
        return values

    own = [eddy.function(risky, type="int64")]
    query = eddy.sql(f"{JOIN} AND risky(A.v) > 8", schemas=SCHEMAS, functions=own)
    engine.add("risky", query)
    before = seen(engine)
    with pytest.raises(ZeroDivisionError, match="thirteen"):
        engine.push("A", row("A", 12, 13))
    assert seen(engine) == before
    assert engine.push("A", row("A", 12, 14)).counts["risky"] == 1


def test_a_stream_for_which_no_row_ever_came_gives_nothing(engine):
    """A query may wait for a stream as long as it likes; then it sees what is live."""
    engine.add("paired", made("SELECT A.v FROM A [ROWS 4], C [ROWS 3] WHERE A.k = C.k"))
    assert len(engine.push("A", row("A", 12))["paired"]) == 0
    assert len(engine.push("C", row("C", 13))["paired"]) == 2


def test_a_closed_engine_takes_nothing(engine):
    """Neither rows nor queries."""
    engine.close()
    for what in (
        lambda: engine.push("A", row("A", 12)),
        lambda: engine.push_all({}),
        lambda: engine.advance(20),
        lambda: engine.flush(),
        lambda: engine.add("more", made(JOIN)),
    ):
        with pytest.raises(eddy.StateError, match="the engine is closed: make a new one"):
            what()
    with pytest.raises(eddy.EddyError, match="there is no query 'join'; the queries are: none"):
        engine.drop("join")


CALLS = {
    "migrate": lambda engine: engine.migrate("B A"),
    "pin": lambda engine: engine.pin("A B"),
    "table": lambda engine: engine.table(),
    "why": lambda engine: engine.why(A=0, B=0),
}


@pytest.mark.parametrize("name", CALLS)
def test_what_is_asked_of_one_query_names_it(engine, name):
    """The error says how, and which there are."""
    match = r"say which query is meant: \w+\(.*query=.*\); there are join, large, recent, unpaired, groups"
    refused(engine, lambda: CALLS[name](engine), eddy.EddyError, match)


@pytest.mark.parametrize(
    "options, match",
    [
        ({"threads": 0}, "threads"),
        ({"migration": ParallelTrack(order="pt")}, 'use order="max"'),
        ({"late": "drop"}, "give lateness="),
        ({"plan": {"other": "A B"}}, "there is no query 'other', only join"),
    ],
)
def test_options_that_do_not_go_with_several_queries(options, match):
    """They are refused when the engine is made."""
    with pytest.raises(eddy.EddyError, match=match):
        eddy.Eddy({"join": made(JOIN)}, **options)


@pytest.mark.parametrize(
    "what, match",
    [
        (lambda engine: engine.push("A", row("A", 12), max_rows=5), "max_rows is for engines of one query"),
        (lambda engine: engine.watch(query="more"), "there is no query 'more'"),
        (lambda engine: engine.advance(12, stream="A"), "with Eddy\\(queries, lateness=0\\)"),
        (lambda engine: engine.late(), "late='keep'"),
        (lambda engine: engine.table("join"), "join has none"),
    ],
)
def test_what_several_queries_cannot_do_yet(engine, what, match):
    """It is said plainly."""
    refused(engine, lambda: what(engine), eddy.EddyError, match)


def test_an_engine_of_one_query_without_a_name_has_no_others():
    """It says how to have them."""
    engine = eddy.Eddy(made(JOIN))
    for what in (lambda: engine.add("more", made(JOIN)), lambda: engine.drop("more")):
        with pytest.raises(eddy.EddyError, match=r"queries come and go in eddy\.Eddy"):
            what()
    assert engine.queries == {}

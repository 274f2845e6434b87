"""Several queries whose joins are made by several threads: each gives what it gives alone, by one thread."""

from __future__ import annotations

import numpy as np
import pytest

import eddy
from tests.several.worlds import check
from tests.strategies import Pick

SCHEMAS = {name: {"ts": "int64", "k": "int64", "v": "int64", "s": "string"} for name in "ABC"}
JOIN = "FROM A [RANGE 2000], B [RANGE 2000], C [RANGE 2000] WHERE A.k = B.k AND B.k = C.k"
SHOWN = "SELECT A.ts AS a, B.ts AS b, C.ts AS c, A.s"
QUERIES = {
    "all": f"{SHOWN} {JOIN}",
    "some": f"{SHOWN} {JOIN} AND A.v > 500",
    "text": f"SELECT A.ts AS a, B.s AS b, C.s AS c {JOIN} AND C.s LIKE 't1%'",
    "groups": f"SELECT A.s, COUNT(*) AS n {JOIN} GROUP BY A.s",
    "left": "SELECT A.ts AS a, C.ts AS c FROM A [RANGE 500] LEFT JOIN C [RANGE 500] ON A.k = C.k",
}


@pytest.mark.parametrize("seed", range(30))
def test_each_query_gives_what_it_gives_alone(seed):
    """Random queries that come and go, with plan changes and techniques; the oracles have one thread."""
    check(Pick(seed), 24, threads=2)


def rows(random, at, n):
    """Rows of one stream."""
    found = {"ts": np.arange(at, at + n), "k": random.integers(0, 1000, n), "v": random.integers(0, 1000, n)}
    return {**found, "s": [f"t{i % 97}" for i in range(n)]}


def lines(result, signed):
    """The rows of a result in an order of their own."""
    table = result.to_arrow(signed)
    return table.sort_by([(name, "ascending") for name in table.schema.names])


def test_large_pushes_come_and_go_through_snapshots(tmp_path):
    """Portion by portion; results are in the order of their latest events, as with one thread."""
    random = np.random.default_rng(1)
    queries = {name: eddy.sql(text, schemas=SCHEMAS) for name, text in QUERIES.items()}
    engine = eddy.Eddy({name: queries[name] for name in QUERIES if name != "some"}, threads=2)
    alone = {name: eddy.Eddy(query) for name, query in queries.items()}
    assert engine.threads == 2
    for step in range(4):
        batches = {name: rows(random, step * 10_000, 10_000) for name in "ABC"}
        found = engine.push_all(batches)
        for name, one in alone.items():
            wanted = one.push_all({stream: batches[stream] for stream in one.query.names})
            if name in engine.queries:
                assert lines(found[name], one.query.signed) == lines(wanted, one.query.signed), (step, name)
        latest = np.max([np.asarray(found["all"].to_arrow()[column]) for column in "abc"], axis=0)
        assert len(latest) and (np.diff(latest) >= 0).all()
        if step == 1:
            engine.add("some", queries["some"])
            engine.migrate("C (A B)", query="all")
        if step == 2:
            engine.save(tmp_path / "several.eddy")
            engine = eddy.Eddy.load(tmp_path / "several.eddy", threads=2)
            assert engine.threads == 2
    assert lines(engine.table("groups"), False) == lines(alone["groups"].table(), False)
    assert eddy.Eddy.load(tmp_path / "several.eddy").threads == 1

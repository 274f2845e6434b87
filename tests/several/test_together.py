"""The results of many queries in one table."""

from __future__ import annotations

import numpy as np
import pytest

import eddy

SCHEMAS = {
    "clicks": {"ts": "int64", "user": "int64", "page": "string", "score": "float64"},
    "orders": {"ts": "int64", "user": "int64", "total": "int64"},
}
JOIN = "FROM clicks [ROWS 50], orders [RANGE 30] WHERE clicks.user = orders.user"


def rules(count, shown="clicks.page, orders.total"):
    """Queries that differ in a constant."""
    return {
        f"rule {i}": eddy.sql(f"SELECT {shown} {JOIN} AND orders.total = {i}", schemas=SCHEMAS)
        for i in range(count)
    }


def batches(random, at):
    """Rows of both streams."""
    n = 40
    times = np.arange(at, at + n)
    return {
        "clicks": {
            "ts": 2 * times,
            "user": random.integers(0, 4, n),
            "page": random.choice(["/a", "/b"], n).tolist(),
            "score": random.random(n),
        },
        "orders": {"ts": 2 * times + 1, "user": random.integers(0, 4, n), "total": random.integers(0, 40, n)},
    }


@pytest.mark.parametrize("options", [{}, {"retractions": True}, {"batch_size": 7}], ids=str)
def test_one_table_has_the_rows_of_each_query(options):
    """to_arrow() gives the rows of every query, under its name, in its order."""
    random = np.random.default_rng(1)
    engine = eddy.Eddy(rules(30), **options)
    for at in range(0, 400, 40):
        if at == 200:
            engine.add("late", rules(8)["rule 7"], history=False)
            engine.drop("rule 3")
        found = engine.push_all(batches(random, at))
        table = found.to_arrow(sign=True)
        names, rest = table.column(0).to_pylist(), table.drop(["query"]).to_pylist()
        for name in engine.queries:
            own = [row for of, row in zip(names, rest, strict=True) if of == name]
            assert own == list(found[name].records(sign=True))
        assert len(rest) == sum(found.counts.values())


def test_queries_that_show_different_columns_are_not_in_one_table():
    """What shows other columns is named, and what to do instead."""
    one, other = rules(1), rules(1, "clicks.score")
    engine = eddy.Eddy({"a": one["rule 0"], "b": other["rule 0"]})
    found = engine.push_all(batches(np.random.default_rng(2), 0))
    with pytest.raises(eddy.EddyError, match=r"show different columns .*read them by name"):
        found.to_arrow()


def test_results_may_be_read_many_pushes_later():
    """What nobody has read yet stays what it was."""
    random = np.random.default_rng(3)
    engine, alone = eddy.Eddy(rules(5)), {name: eddy.Eddy(query) for name, query in rules(5).items()}
    kept = []
    for at in range(0, 800, 40):
        rows = batches(random, at)
        kept.append((engine.push_all(rows), {n: one.push_all(rows).to_pydict() for n, one in alone.items()}))
    for found, wanted in kept:
        assert {name: result.to_pydict() for name, result in found.items()} == wanted


def test_results_of_many_cores_are_the_same_whether_they_are_read_or_not():
    """Where several cores have results that somebody reads, the next are read ahead: they are those of each alone."""
    queries = {
        f"of {rows}": eddy.sql(
            f"SELECT clicks.page, orders.total + 1 AS more FROM clicks [ROWS {rows}], orders [ROWS {rows}] "
            "WHERE clicks.user = orders.user",
            schemas=SCHEMAS,
        )
        for rows in (3, 9, 20)
    }
    engine, alone = eddy.Eddy(queries), {name: eddy.Eddy(query) for name, query in queries.items()}
    random, unread = np.random.default_rng(5), []
    for at in range(0, 1200, 40):
        batch = batches(random, at)
        unread.append((engine.push_all(batch), {name: one.push_all(batch) for name, one in alone.items()}))
        if random.random() < 0.6:
            for found, wanted in unread:
                whole = found.to_arrow().to_pylist() if random.random() < 0.5 else []
                for name, result in wanted.items():
                    assert found[name].to_arrow().equals(result.to_arrow())
                    if whole:
                        own = [
                            {k: v for k, v in row.items() if k != "query"}
                            for row in whole
                            if row["query"] == name
                        ]
                        assert own == result.to_arrow().to_pylist()
            unread.clear()


@pytest.mark.parametrize("kept", [0, 6])
def test_a_query_that_came_later_has_its_rows_before_and_after_windows_have_turned(kept):
    """Without history it sees the rows to come: in one table with others, read at once or some pushes later."""
    random, waiting = np.random.default_rng(3), []
    engine = eddy.Eddy(rules(20))
    for at in range(0, 120, 40):
        engine.push_all(batches(random, at))
    engine.add("late", rules(8)["rule 7"], history=False)
    alone, early = eddy.Eddy(rules(20)["rule 7"]), eddy.Eddy(rules(20)["rule 7"])
    again = np.random.default_rng(3)
    for at in range(0, 120, 40):
        early.push_all(batches(again, at))
    for at in range(120, 800, 40):
        batch = batches(random, at)
        waiting.append((engine.push_all(batch), alone.push_all(batch), early.push_all(batch)))
        while len(waiting) > kept:
            found, late, all_along = waiting.pop(0)
            table = found.to_arrow().to_pylist()
            for name, wanted in (("late", late), ("rule 7", all_along)):
                own = [
                    {k: v for k, v in row.items() if k != "query"} for row in table if row["query"] == name
                ]
                assert own == wanted.to_arrow().to_pylist() == found[name].to_arrow().to_pylist()

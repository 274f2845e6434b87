"""Grouped filters say of every row what each query's own filter says."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import eddy
from eddy.several.grouped_filters import GroupedFilters
from eddy.several.lineage import Lineage
from eddy.several.planting import reader
from eddy.several.sets import Sets
from eddy.values.types import Column
from tests.strategies import Pick

COLUMNS = {
    "i": "int64",
    "small": "int8",
    "f": "float64",
    "s": "string",
    "t": "timestamp[us]",
    "d": "decimal(9,2)",
    "b": "bool",
    "u": "uint64",
}
PARTS = [
    "i {op} {n}",
    "small {op} {n}",
    "f {op} {n}",
    "f {op} {n}.5",
    "i {op} {n}.5",
    "u {op} {n}",
    "d {op} {n}.25",
    "s = 'w{n}'",
    "s <> 'w{n}'",
    "s IN ('w{n}', 'w1')",
    "s LIKE 'w%'",
    "i IN ({n}, 3, 5)",
    "f IN ({n}, 2.5)",
    "t {op} TIMESTAMP '2024-01-01 00:00:0{n}'",
    "b",
    "NOT b",
    "i IS NULL",
    "i + small {op} {n}",
    "{n} {op} i",
    "i BETWEEN {n} AND 7",
    "NOT i BETWEEN {n} AND 7",
    "NOT f < {n}",
    "i = {n} OR f > 3",
]
OPERATORS = ["=", "<>", "<", "<=", ">", ">="]


def filters(pick, count):
    """Filters of some queries; None: there is none."""
    found = {}
    for number in range(count):
        parts = [
            pick.choice(PARTS).format(op=pick.choice(OPERATORS), n=pick.integer(0, 9))
            for _ in range(pick.integer(0, 3))
        ]
        text = " AND ".join(f"({part})" for part in parts)
        query = eddy.Query({"A": COLUMNS}, where=text or ())
        found[number * 3] = query.filters.get("A")
    return found


def rows(pick, n):
    """Random rows, with NULLs and NaN."""
    random = np.random.default_rng(pick.integer(0, 2**31))

    def some(values):
        return Column(values, random.random(n) > 0.1)

    floats = random.integers(0, 20, n) / 2
    floats[random.random(n) < 0.1] = np.nan
    return {
        "i": some(random.integers(0, 10, n)),
        "small": some(random.integers(0, 10, n).astype(np.int8)),
        "f": some(floats),
        "s": some(pa.array([f"w{k}" for k in random.integers(0, 10, n)], pa.string())),
        "t": some(1704067200000000 + 1000000 * random.integers(0, 10, n)),
        "d": some(random.integers(0, 1000, n)),
        "b": some(random.random(n) < 0.5),
        "u": some(random.integers(0, 10, n).astype(np.uint64)),
    }


@pytest.mark.parametrize("seed", range(150))
def test_a_row_is_wanted_by_the_queries_whose_filters_accept_it(seed):
    """The set of a row has exactly the queries whose filters hold for it."""
    pick, sets = Pick(seed), Sets()
    given = filters(pick, pick.integer(1, 12))
    grouped = GroupedFilters(given)
    for _ in range(3):
        n = pick.integer(0, 60)
        columns = rows(pick, n)
        get = reader(columns)
        numbers = grouped.wanted_by(get, "A", n, sets)
        found = [set(sets.members[number].tolist()) for number in numbers.tolist()]
        for query, one in given.items():
            holds = np.ones(n, bool) if one is None else one.holds(get, n)
            assert [query in some for some in found] == holds.tolist(), one


def test_many_comparisons_of_many_columns_are_told_apart():
    """Combinations of regions may be more than a number has room for."""
    names = [f"c{i}" for i in range(12)]
    streams = {"A": dict.fromkeys(names, "int64")}
    given = {
        q: eddy.Query(streams, where=[f"{c} > {7 * q + i}" for i, c in enumerate(names)]).filters["A"]
        for q in range(60)
    }
    values = {c: Column(np.arange(0, 500, 5) + i) for i, c in enumerate(names)}
    sets = Sets()
    numbers = GroupedFilters(given).wanted_by(lambda _, c: values[c], "A", 100, sets)
    for row, number in enumerate(numbers.tolist()):
        assert sets.members[number].tolist() == [q for q in given if 5 * row > 7 * q]


def test_a_result_is_wanted_by_those_who_want_all_of_its_rows():
    """Sets of rows are intersected, and results come in their order."""
    lineage = Lineage(["A", "B"])
    for number in range(3):
        lineage.add(number, {})
    a, b = lineage.sets["A"], lineage.sets["B"]
    of_a = np.array([a.number(np.array(some)) for some in ([0, 1], [1, 2], [0, 1, 2], [0])])
    of_b = np.array([b.number(np.array(some)) for some in ([1, 2], [1, 2], [0, 2], [1])])
    split = lineage.split([of_a, of_b])
    assert [split.of(number).tolist() for number in range(4)] == [[2], [0, 1], [1, 2], []]


def test_sets_that_no_row_has_are_forgotten():
    """What is kept has new numbers and the queries that are there; rows of dropped ones are not those nobody wanted."""
    sets = Sets()
    old = [sets.number(np.array(some, np.int64)) for some in ([1, 2], [2, 3], [4], [2], [1])]
    new = sets.keep(np.array([0, old[0], old[1], old[2]]), np.array([2, 3]), 10)
    assert new[0] == 0 and new[old[2]] > 0 and new[old[3]] == 0
    members = [sets.members[new[number]].tolist() for number in old[:3]]
    assert members == [[2], [2, 3], []] and len(sets) == 4
    assert sets.number(np.array([], np.int64)) == 0 and sets.number(np.array([2], np.int64)) == new[old[0]]


def test_many_sets_do_not_stay():
    """Rows that differ in who wants them leave nothing behind when they are gone, and results are the same."""
    schemas = {"A": {"x": "int64", "a": "int64", "b": "int64", "c": "int64"}, "B": {"x": "int64"}}
    texts = {
        f"{column}{i}": f"SELECT A.a, B.x FROM A [ROWS 20], B [ROWS 5] WHERE A.x = B.x AND A.{column} > {i}"
        for column in "abc"
        for i in range(0, 100, 5)
    }
    queries = {name: eddy.sql(text, schemas=schemas) for name, text in texts.items()}
    engine, alone = eddy.Eddy(queries), {name: eddy.Eddy(queries[name]) for name in ("a5", "c50")}
    random, sizes, found = np.random.default_rng(0), [], []
    for _ in range(120):
        rows = {"x": random.integers(0, 3, 50), **{column: random.integers(0, 100, 50) for column in "abc"}}
        for stream, batch in (("A", rows), ("B", {"x": np.arange(3)})):
            given = engine.push(stream, batch)
            found.append((given, {name: one.push(stream, batch).records() for name, one in alone.items()}))
            if len(found) > 2:
                late, wanted = found.pop(0)
                for name, records in wanted.items():
                    assert sorted(map(repr, late[name].records())) == sorted(map(repr, records))
        sizes.append(engine.nbytes)
    assert max(sizes[60:]) <= 1.5 * max(sizes[20:60])

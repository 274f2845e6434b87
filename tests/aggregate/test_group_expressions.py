"""Groups by expressions, aggregates of expressions, DISTINCT and HAVING, while rows come and go, against the oracle."""

import random
from collections import Counter
from types import SimpleNamespace

import pytest

import eddy
from tests import naive

COLUMNS = {"k": "int64", "v": "int64", "s": "string"}
A, B = ({c: ("col", name, c) for c in COLUMNS} for name in "AB")
EVEN = ("=", ("%", B["v"], ("lit", 2)), ("lit", 0))
TEXT = ("upper", ("||", A["s"], ("coalesce", B["s"], ("lit", "-"))))
SIZE = ("case", (">", B["v"], ("lit", 3)), ("lit", "large"), EVEN, ("lit", "even"), ("lit", None))

CASES = {
    "expressions": (
        "SELECT A.v % 2 AS g, SUM(A.v * B.v + 1) AS a, MIN(UPPER(A.s || COALESCE(B.s, '-'))) AS b",
        "GROUP BY A.v % 2",
        [("%", A["v"], ("lit", 2))],
        [("SUM", ("+", ("*", A["v"], B["v"]), ("lit", 1))), ("MIN", TEXT)],
    ),
    "texts": (
        "SELECT A.k, MIN(B.s) AS a, MAX(B.s) AS b, COUNT(DISTINCT B.s) AS c",
        "GROUP BY A.k",
        [A["k"]],
        [("MIN", B["s"]), ("MAX", B["s"]), ("COUNT DISTINCT", B["s"])],
    ),
    "a computed text": (
        "SELECT CASE WHEN B.v > 3 THEN 'large' WHEN B.v % 2 = 0 THEN 'even' END AS g, COUNT(*) AS n",
        "GROUP BY g",
        [SIZE],
        [("COUNT",)],
    ),
    "distinct values": (
        "SELECT COUNT(DISTINCT A.v + B.v) AS a, SUM(DISTINCT B.v) AS b, COUNT(DISTINCT LENGTH(A.s)) AS c",
        "",
        [],
        [
            ("COUNT DISTINCT", ("+", A["v"], B["v"])),
            ("SUM DISTINCT", B["v"]),
            ("COUNT DISTINCT", ("length", A["s"])),
        ],
    ),
    "some of them": (
        "SELECT A.k, COUNT(*) FILTER (WHERE B.v % 2 = 0) AS a, MAX(B.s) FILTER (WHERE B.v > 3) AS b",
        "GROUP BY A.k",
        [A["k"]],
        [
            ("COUNT", ("case", EVEN, ("lit", 1), ("lit", None))),
            ("MAX", ("case", (">", B["v"], ("lit", 3)), B["s"], ("lit", None))),
        ],
    ),
    "no aggregate": (
        "SELECT DISTINCT A.k, LEFT(B.s, 1) AS t",
        "",
        [A["k"], ("left", B["s"], ("lit", 1))],
        [],
    ),
}


def feed(seed):
    """Rows of both streams in turns, with NULLs."""
    pick = random.Random(seed)
    for _ in range(60):
        row = (pick.randrange(3), pick.randrange(6), pick.choice(["a", "b", "ab", "ba", "äa", ""]))
        yield pick.choice("AB"), tuple(None if pick.random() < 0.1 else value for value in row)


@pytest.mark.parametrize("name", list(CASES))
@pytest.mark.parametrize("batch", [1, 7])
@pytest.mark.parametrize("more", [{}, {"threads": 2}], ids=["one thread", "two threads"])
def test_changelog(name, batch, more):
    """The changelog of every event, and the table at the end; plan changes in between make no difference."""
    select, groups, keys, outputs = CASES[name]
    schema = dict.fromkeys("AB", COLUMNS)
    query = eddy.sql(f"{select} FROM A [ROWS 5], B [ROWS 4] WHERE A.k = B.k {groups}", schema)
    streams = {
        "A": SimpleNamespace(columns=COLUMNS, window=("rows", 5), time=None),
        "B": SimpleNamespace(columns=COLUMNS, window=("rows", 4), time=None),
    }
    events = list(feed(len(name)))
    where = [("=", A["k"], B["k"])]
    expected = naive.aggregates(streams, where, events, outputs, keys)
    assert sum(map(len, expected)) > 20
    engine = eddy.Eddy(query, **more)
    standing = Counter(zip(*engine.table().to_pydict().values(), strict=True))
    at = 0
    while at < len(events):
        stream, rows = events[at][0], [events[at][1]]
        while len(rows) < batch and at + len(rows) < len(events) and events[at + len(rows)][0] == stream:
            rows.append(events[at + len(rows)][1])
        result = engine.push(stream, dict(zip(COLUMNS, map(list, zip(*rows, strict=True)), strict=True)))
        found = list(zip(result.sign.tolist(), zip(*result.to_pydict().values(), strict=True), strict=True))
        wanted = [change for event in expected[at : at + len(rows)] for change in event]
        assert Counter(found) == Counter(wanted)
        for sign, row in found:
            standing[row] += sign
        at += len(rows)
    assert +standing == Counter(zip(*engine.table().to_pydict().values(), strict=True))


def test_having():
    """Of each row before and after an event, those are told that the condition is true of."""
    query = eddy.sql(
        "SELECT A.k, COUNT(*) * 10 AS n FROM A, B [ROWS 2] WHERE A.k = B.k GROUP BY A.k HAVING COUNT(*) > 1",
        {"A": {"k": "int64"}, "B": {"k": "int64"}},
    )
    engine = eddy.Eddy(query)
    engine.push("A", {"k": [1, 2]})
    found = [engine.push("B", {"k": [k]}) for k in (1, 1, 2)]
    assert [(r.to_pydict(), r.sign.tolist()) for r in found] == [
        ({"A.k": [], "n": []}, []),
        ({"A.k": [1], "n": [20]}, [1]),
        ({"A.k": [1], "n": [20]}, [-1]),
    ]
    assert engine.table().to_pydict() == {"A.k": [], "n": []}


def test_snapshot(tmp_path):
    """Groups by expressions, texts and distinct values are there again after a restart, and go on as before."""
    select = "UPPER(A.s) AS g, MIN(B.s) AS a, COUNT(DISTINCT B.s) + 1 AS b FROM A [ROWS 5], B [ROWS 4] WHERE A.k = B.k"
    query = eddy.sql(f"SELECT {select} GROUP BY g HAVING COUNT(*) > 0", dict.fromkeys("AB", COLUMNS))
    engine = eddy.Eddy(query)
    events = list(feed(3))
    for stream, row in events[:40]:
        engine.push(stream, {c: [value] for c, value in zip(COLUMNS, row, strict=True)})
    engine.save(tmp_path / "x.eddy")
    again = eddy.Eddy.load(tmp_path / "x.eddy")
    assert str(again.query) == str(query)
    assert len(engine.table()) > 1
    for stream, row in events[40:]:
        pushed = {c: [value] for c, value in zip(COLUMNS, row, strict=True)}
        one, two = (each.push(stream, pushed) for each in (engine, again))
        assert Counter(zip(*one.to_pydict(sign=True).values(), strict=True)) == Counter(
            zip(*two.to_pydict(sign=True).values(), strict=True)
        )


def test_many_texts():
    """Strings that no group holds any more are let go of, and those that are there keep their order."""
    query = eddy.sql(
        "SELECT MIN(B.s) AS a, MAX(B.s) AS b, COUNT(DISTINCT B.s) AS n FROM A, B [ROWS 50] WHERE A.k = B.k",
        {"A": {"k": "int64"}, "B": {"k": "int64", "s": "string"}},
    )
    engine = eddy.Eddy(query)
    engine.push("A", {"k": [1]})
    pick = random.Random(0)
    texts = [f"{pick.randrange(10**6):x}" for _ in range(20_000)]
    for start in range(0, len(texts), 200):
        engine.push("B", {"k": [1] * 200, "s": texts[start : start + 200]})
        last = texts[start + 150 : start + 200]
        assert engine.table().to_pydict() == {"a": [min(last)], "b": [max(last)], "n": [len(set(last))]}

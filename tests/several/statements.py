"""Random queries over four streams, as SQL."""

from __future__ import annotations

import warnings

import eddy

SCHEMAS = {
    "A": {"ts": "int64", "x": "int64", "y": "int64", "v": "int64", "s": "string"},
    "B": {"ts": "int64", "x": "int64", "y": "int64", "v": "float64", "s": "string"},
    "C": {"ts": "int64", "x": "int64", "y": "int64", "v": "int64", "s": "string"},
    "D": {"ts": "int64", "x": "int64", "y": "int64", "v": "int64", "s": "string"},
}
WORDS = ["a", "b", "c", None]
FILTERS = [
    "{0}.v > 3",
    "{0}.v <= {1}",
    "{0}.v = {1}",
    "{0}.v <> {1}",
    "{0}.v IN (1, 4, {1})",
    "{0}.v BETWEEN {1} AND 8",
    "{0}.s = 'a'",
    "{0}.s IN ('b', 'c')",
    "{0}.s <> 'b'",
    "{0}.s LIKE 'a%'",
    "{0}.s IS NULL",
    "{0}.x + {0}.y > {1}",
    "{0}.v > 2 AND {0}.v < 7 AND {0}.s <> 'c'",
    "{0}.x = {1}",
]
WINDOWS = ["", "", "[ROWS 3]", "[ROWS 8]", "[RANGE 5]", "[RANGE 20]", "[TUMBLING 6 ROWS]", "[TUMBLING 10]"]
JOINS = [
    (("A", "B"), "A.x = B.x"),
    (("A", "B"), "A.x = B.x AND A.y = B.y"),
    (("A", "B", "C"), "A.x = B.x AND B.y = C.y"),
    (("A", "B", "C"), "A.x = B.x AND B.x = C.x"),
    (("B", "C"), "B.s = C.s"),
    (("A", "C"), "A.x = C.x AND ABS(A.v - C.v) <= 2"),
    (("A", "B", "C", "D"), "A.x = B.x AND B.y = C.y AND C.x = D.x"),
    (("C", "D"), "C.v < D.v AND C.v > D.v - 3"),
    (("A",), ""),
]
SHOWN = [
    "{0}.v, {1}.s",
    "{0}.ts, {1}.v + 1 AS more, {0}.s",
    "*",
    "COUNT(*) AS n, SUM({0}.x) AS t",
    "{0}.s, COUNT(*) AS n, MAX({1}.v) AS m",
    "{0}.v, {1}.v",
]


def statement(pick):
    """A query as SQL."""
    if pick.chance(15):
        return apart(pick)
    names, on = pick.choice(JOINS)
    windows = pick.choice([[w] * 4 for w in WINDOWS[:4]] + [[pick.choice(WINDOWS) for _ in range(4)]])
    where = [on] if on else []
    for name in names:
        if pick.chance(45):
            where.append(pick.choice(FILTERS).format(name, pick.integer(0, 9)))
    shown = pick.choice(SHOWN[:-1] if len(names) == 1 else SHOWN).format(names[0], names[-1])
    text = f"SELECT {shown} FROM {', '.join(f'{n} {w}' for n, w in zip(names, windows, strict=False))}"
    text += f" WHERE {' AND '.join(where)}" if where else ""
    if "COUNT" in shown and shown.startswith(f"{names[0]}.s"):
        text += f" GROUP BY {names[0]}.s"
    elif "COUNT" not in shown and pick.chance(20):
        text += " EMIT CHANGES"
    return text


def apart(pick):
    """A query that shares no core."""
    window = pick.choice(["[ROWS 5]", "[RANGE 8]"])
    return pick.choice(
        [
            f"SELECT A.v, B.s FROM A {window} LEFT JOIN B {window} ON A.x = B.x",
            f"SELECT A.v FROM A {window} WHERE NOT EXISTS (SELECT 1 FROM C {window} WHERE C.x = A.x)",
            f"SELECT C.v, A.s FROM C {window} SEMI JOIN D {window} ON C.y = D.y JOIN A {window} ON A.x = C.x",
        ]
    )


def made(text):
    """The query of a statement."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", eddy.LossyWindow)
        return eddy.sql(text, schemas=SCHEMAS)

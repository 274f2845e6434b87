"""What random statements have in FROM: one function for each kind, and the list of those that are tried."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from attrs import field, frozen

from tests.sql.chains import asked, chain, on
from tests.sql.columns import COLUMNS

if TYPE_CHECKING:
    from tests.sql.generator import Generator

ENABLED = (
    "comma",
    "join",
    "using",
    "cross",
    "parentheses",
    "subquery",
    "joined subquery",
    "with",
    "difference",
    "joined difference",
    "left",
    "right",
    "full",
    "semi",
    "anti",
    "exists",
    "not exists",
    "in",
    "not in",
    "asof",
    *["chain"] * 7,
)
"""The kinds that statements have."""


@frozen
class Source:
    """FROM of a statement, as an engine reads it and as DuckDB does."""

    text: str
    shown: tuple[str, ...]
    """The tables that expressions may name."""
    fed: tuple[str, ...]
    """Those that are read."""
    before: str = ""
    """WITH."""
    conditions: tuple[str, ...] = ()
    """Of WHERE."""
    duckdb: str = field()
    duckdb_conditions: tuple[str, ...] = ()
    connected: bool = False
    """Whether WHERE needs no condition between the tables."""
    signed: bool = False
    """Whether an engine takes results back until all rows are there."""
    first: tuple[str, ...] = ()
    """Tables of which all rows come before those of others."""
    chained: bool = False
    """Whether it has joins that can be final in some orders alone, and some that are refused."""

    @duckdb.default
    def _same(self) -> str:
        return self.text


def source(made: Generator) -> Source:
    """One of the enabled kinds."""
    kind = made.random.choice(ENABLED)
    return _KINDS[kind](made, made.random.sample("ABC", made.random.choice([2, 2, 2, 3])), kind)


def _comma(made: Generator, names: list[str], kind: str) -> Source:
    return Source(", ".join(names), tuple(names), tuple(names))


def _join(made: Generator, names: list[str], kind: str) -> Source:
    text = names[0] + "".join(
        f" JOIN {name} ON {made.link(names[: i + 1], name)}" for i, name in enumerate(names[1:])
    )
    return Source(text, tuple(names), tuple(names), connected=True)


def _using(made: Generator, names: list[str], kind: str) -> Source:
    column = made.random.choice(["i", "j", "s", "i, j"])
    text = f" JOIN {{}} USING ({column})"
    return Source(
        names[0] + "".join(text.format(name) for name in names[1:]),
        tuple(names),
        tuple(names),
        connected=True,
    )


def _cross(made: Generator, names: list[str], kind: str) -> Source:
    return Source(" CROSS JOIN ".join(names), tuple(names), tuple(names))


def _parentheses(made: Generator, names: list[str], kind: str) -> Source:
    first, *others = names
    if len(others) == 1:
        return Source(
            f"({first} JOIN {others[0]} ON {made.link([first], others[0])})", tuple(names), tuple(names)
        )
    second, third = others
    inner, outer = made.link([second], third), made.link([first], made.random.choice(others))
    if made.random.random() < 0.5:
        text = f"{first} JOIN ({second} JOIN {third} ON {inner}) ON {outer}"
    else:
        text = f"({second} JOIN {third} ON {inner}) JOIN {first} ON {outer}"
    return Source(text, tuple(names), tuple(names), connected=True)


def _selected(made: Generator, name: str) -> str:
    """A subquery that shows all columns of a table, some of them computed, of some rows."""
    with made.naming([name]):
        items = [
            f"{made.expression(kind, 1)} AS {column}"
            if made.random.random() < 0.3
            else f"{name}.{column} AS {column}"
            for column, kind in COLUMNS.items()
        ]
        where = f" WHERE {made.expression('bool', 1)}" if made.random.random() < 0.6 else ""
    return f"SELECT {', '.join(items)} FROM {name}{where}"


def _subquery(made: Generator, names: list[str], kind: str) -> Source:
    first = f"({_selected(made, names[0])}) AS {names[0]}"
    return Source(", ".join([first, *names[1:]]), tuple(names), tuple(names))


def _joined_subquery(made: Generator, names: list[str], kind: str) -> Source:
    first, second = names[:2]
    items = [f"{made.random.choice([first, second])}.{column} AS {column}" for column in COLUMNS]
    text = f"(SELECT {', '.join(items)} FROM {first} JOIN {second} ON {made.link([first], second)}) AS q"
    return Source(", ".join([text, *names[2:]]), ("q", *names[2:]), tuple(names))


def _with(made: Generator, names: list[str], kind: str) -> Source:
    before = ", ".join(f"w{name} AS ({_selected(made, name)})" for name in names[:2])
    text = ", ".join([f"w{name} AS {name}" for name in names[:2]] + names[2:])
    return Source(text, tuple(names), tuple(names), before=f"WITH {before} ")


def _key(made: Generator, one: str, other: str) -> str:
    pairs = made.random.sample(["i", "j", "s", "f"], made.random.choice([1, 1, 2]))
    return " AND ".join(f"{one}.{column} = {other}.{column}" for column in pairs)


def _difference(made: Generator, names: list[str], kind: str) -> Source:
    first, *others = names
    keys = [_key(made, first, name) for name in others]
    text = first + "".join(f" EXCEPT {name} ON {key}" for name, key in zip(others, keys, strict=True))
    none = tuple(
        f"NOT EXISTS (SELECT 1 FROM {name} WHERE {key})" for name, key in zip(others, keys, strict=True)
    )
    return Source(
        text, (first,), tuple(names), duckdb=first, duckdb_conditions=none, connected=True, signed=True
    )


def _joined_difference(made: Generator, names: list[str], kind: str) -> Source:
    """A difference of a join, and a join with a difference in it."""
    first, second, *_ = names
    last = made.random.choice(sorted({*"ABC"} - {first, second}))
    join = made.random.choice(["JOIN", "JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN"])
    link, key = on(made, [first], second), on(made, [first], last)
    beside = f"(SELECT * FROM {first} WHERE NOT EXISTS (SELECT 1 FROM {last} WHERE {key})) AS {first}"
    text, duckdb = made.random.choice(
        [
            (
                f"({first} EXCEPT {last} ON {key}) {join} {second} ON {link}",
                f"{beside} {join} {second} ON {link}",
            ),
            (
                f"{second} {join} ({first} EXCEPT {last} ON {key}) ON {link}",
                f"{second} {join} {beside} ON {link}",
            ),
            (
                f"{first} EXCEPT {last} ON {key} {join} {second} ON {link}",
                f"{beside} {join} {second} ON {link}",
            ),
            (
                f"{first} {join} {second} ON {link} EXCEPT {last} ON {key}",
                f"{first} {join} {second} ON {link}",
            ),
        ]
    )
    conditions = (f"NOT EXISTS (SELECT 1 FROM {last} WHERE {key})",) if "EXISTS" not in duckdb else ("TRUE",)
    return Source(
        text,
        (first, second),
        (first, second, last),
        duckdb=duckdb,
        duckdb_conditions=conditions,
        connected=True,
        signed=True,
    )


def _outer(made: Generator, names: list[str], kind: str) -> Source:
    names = names[:2] if kind in ("right", "full") else names
    text = names[0] + "".join(
        f" {kind.upper()} JOIN {name} ON {on(made, names[: i + 1], name)}" for i, name in enumerate(names[1:])
    )
    return Source(text, tuple(names), tuple(names), connected=True, signed=True)


def _half(made: Generator, names: list[str], kind: str) -> Source:
    text = f"{names[0]} {kind.upper()} JOIN {names[1]} ON {on(made, names[:1], names[1])}"
    return Source(text, tuple(names[:1]), tuple(names[:2]), connected=True, signed=True)


def _asof(made: Generator, names: list[str], kind: str) -> Source:
    """What it finds goes by the order in which rows come, of which DuckDB knows none: to it, all rows are there."""
    pick = made.random
    one, other = names[:2]
    key = f"{_key(made, one, other)} AND " if pick.random() < 0.8 else ""
    nearest = pick.choice([f"{one}.at >= {other}.at", f"{other}.at <= {one}.at", f"{one}.at > {other}.at"])
    text = f"{one} {pick.choice(['ASOF', 'ASOF LEFT'])} JOIN {other} ON {key}{nearest}"
    return Source(text, (one, other), (one, other), connected=True, first=(other,))


def _exists(made: Generator, names: list[str], kind: str) -> Source:
    *shown, last = names
    condition = f"{kind.upper()} (SELECT 1 FROM {last} WHERE {on(made, shown, last)})"
    return Source(", ".join(shown), tuple(shown), tuple(names), conditions=(condition,), signed=True)


def _in(made: Generator, names: list[str], kind: str) -> Source:
    *shown, last = names
    column = made.random.choice(["i", "s"])
    condition = f"{shown[0]}.{column} {kind.upper()} (SELECT {last}.{column} FROM {last})"
    return Source(", ".join(shown), tuple(shown), tuple(names), conditions=(condition,), signed=True)


def _chain(made: Generator, names: list[str], kind: str) -> Source:
    pick = made.random
    names = pick.sample("ABCG", pick.choice([2, 3, 3, 3, 4]))
    conditions: tuple[str, ...] = ()
    last = names.pop() if len(names) > 2 and pick.random() < 0.15 else None
    found = chain(made, names)
    if last is not None:
        conditions = (asked(made, found.seen, last),)
        names = [*names, last]
    return Source(
        found.text,
        tuple(found.seen),
        tuple(names),
        conditions=conditions,
        connected=True,
        signed=True,
        chained=True,
    )


_KINDS = {
    "chain": _chain,
    "comma": _comma,
    "join": _join,
    "using": _using,
    "cross": _cross,
    "parentheses": _parentheses,
    "subquery": _subquery,
    "joined subquery": _joined_subquery,
    "with": _with,
    "difference": _difference,
    "joined difference": _joined_difference,
    **dict.fromkeys(("left", "right", "full"), _outer),
    **dict.fromkeys(("semi", "anti"), _half),
    "asof": _asof,
    **dict.fromkeys(("exists", "not exists"), _exists),
    **dict.fromkeys(("in", "not in"), _in),
}


def natural(pick: random.Random) -> str:
    """A statement of two or three tables that have some columns of the same name, joined by these."""
    names = pick.sample(["D", "E", "F"], pick.choice([2, 3, 3]))
    join = pick.choice(["NATURAL JOIN", "NATURAL INNER JOIN"])
    if pick.random() < 0.4:
        names = names[:2]
        join = f"NATURAL {pick.choice(['LEFT', 'RIGHT', 'FULL'])} JOIN"
    tables = f" {join} ".join(names)
    if pick.random() < 0.3:
        name, column = names[-1], f"v{names[-1]}"
        subquery = f"(SELECT k, s, {column} + 1 AS {column} FROM {name} WHERE k > -2) AS {name}"
        tables = f"{f' {join} '.join(names[:-1])} {join} {subquery}" if "FULL" not in join else tables
    items = pick.sample(
        ["k", f"{names[0]}.k", "k + 1", "k * 2 % 3", "UPPER(s)", "s", *(f"{n}.v{n}" for n in names)], 3
    )
    where = pick.choice(["", " WHERE k > 0", " WHERE s LIKE '%a%'", f" WHERE {names[0]}.v{names[0]} > k"])
    tables = f" FROM {tables}{where}"
    if pick.random() < 0.3:
        return f"SELECT s, COUNT(*) AS n, SUM(k) AS t{tables} GROUP BY s"
    shown = ", ".join(f"{item} AS c{i}" for i, item in enumerate(items))
    return f"SELECT {pick.choice(['', '', 'DISTINCT '])}{shown}{tables}"

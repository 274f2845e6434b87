"""Joins of every kind in one FROM: two to four tables, in parentheses, as subqueries and behind commas, by any
condition."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import define, field

if TYPE_CHECKING:
    from tests.sql.generator import Generator

COMMA = " , "
KINDS = (
    "JOIN",
    "JOIN",
    "LEFT JOIN",
    "LEFT JOIN",
    "RIGHT JOIN",
    "RIGHT JOIN",
    "FULL JOIN",
    "SEMI JOIN",
    "ANTI JOIN",
)
EQUAL = ("i", "j", "s", "f", "m", "day", "at", "i", "j")
BETWEEN = (
    "{a}.i = {b}.j",
    "{a}.i + 1 = {b}.j",
    "{a}.i < {b}.i",
    "{a}.m <= {b}.m",
    "{a}.day >= {b}.day",
    "{a}.i IS NOT DISTINCT FROM {b}.i",
    "{a}.day IS NOT DISTINCT FROM {b}.day",
    "{a}.s IS DISTINCT FROM {b}.s",
    "{a}.j <> {b}.j",
    "{a}.f BETWEEN {b}.f - 1 AND {b}.f + 1",
    "UPPER({a}.s) = UPPER({b}.t)",
    "({a}.i = {b}.i OR {a}.day = {b}.day)",
    "COALESCE({a}.s, {b}.s) IS NOT NULL",
    "({a}.flag OR {b}.flag)",
)
"""Of two tables, some of which hold where a row is missing."""
OF_ONE = (
    "{a}.i > 0",
    "{a}.flag",
    "NOT {a}.flag",
    "{a}.s IS NULL",
    "{a}.j IS NOT NULL",
    "{a}.m > 0.5",
    "{a}.day < DATE '2024-01-02'",
    "{a}.i IS DISTINCT FROM 1",
    "COALESCE({a}.i, 1) = 1",
    "({a}.s LIKE '%a%' OR {a}.i IS NULL)",
)
CONSTANT = ("TRUE", "FALSE", "1 = 1", "1 > 2", "NULL IS NULL")


def on(made: Generator, before: list[str], name: str) -> str:
    """A condition between a table and those before it: mostly a key, with or without more."""
    pick = made.random
    parts = []
    if pick.random() < 0.75:
        column = pick.choice(EQUAL)
        parts.append(f"{pick.choice(before)}.{column} = {name}.{column}")
    if pick.random() < 0.3:
        parts.append(pick.choice(BETWEEN).format(a=pick.choice(before), b=name))
    if pick.random() < 0.35:
        parts.append(pick.choice(OF_ONE).format(a=pick.choice([name, name, *before])))
    if pick.random() < 0.06:
        parts.append(pick.choice(CONSTANT))
    if not parts:
        parts.append(pick.choice([*BETWEEN, *OF_ONE]).format(a=pick.choice(before), b=name))
    pick.shuffle(parts)
    return " AND ".join(parts)


@define
class Chain:
    """Tables that are joined, as text, and which of them conditions may name."""

    text: str
    seen: list[str]
    tables: int = 1
    commas: bool = False
    near: list[str] = field(factory=list)
    """Behind a comma, those that ON may name."""


def item(made: Generator, name: str) -> Chain:
    """A table, or a subquery with some of its rows."""
    pick = made.random
    if pick.random() < 0.2:
        return Chain(f"(SELECT * FROM {name} WHERE {pick.choice(OF_ONE).format(a=name)}) AS {name}", [name])
    return Chain(name, [name])


def chain(made: Generator, names: list[str]) -> Chain:
    """Joins of these tables, in any shape."""
    pick = made.random
    if len(names) == 1:
        return item(made, names[0])
    cut = len(names) - 1 if pick.random() < 0.7 else pick.randrange(1, len(names))
    left, right = chain(made, names[:cut]), chain(made, names[cut:])
    if not left.commas and pick.random() < 0.06:
        both = left.seen + right.seen
        return Chain(f"{left.text}{COMMA}{right.text}", both, left.tables + right.tables, True, right.seen)
    kind = pick.choice(KINDS if right.tables == 1 else KINDS[:-2])
    if left.commas and pick.random() < 0.5:
        left.text, left.commas = f"({left.text.replace(COMMA, ' CROSS JOIN ')})", False
    near = left.near if left.commas else left.seen  # a comma binds less tightly
    if right.tables > 1:
        right.text = f"({right.text.replace(COMMA, ' CROSS JOIN ')})"
    elif left.tables > 1 and not left.commas and pick.random() < 0.15:
        left.text = f"({left.text})"
    text = f"{left.text} {kind} {right.text} ON {on(made, near, pick.choice(right.seen))}"
    more = [] if kind in ("SEMI JOIN", "ANTI JOIN") else right.seen
    return Chain(text, left.seen + more, left.tables + right.tables, left.commas, near + more)


def asked(made: Generator, seen: list[str], name: str) -> str:
    """EXISTS or IN of another table, negated or not."""
    pick = made.random
    no = pick.choice(["", "NOT "])
    if pick.random() < 0.3:
        column = pick.choice(["i", "s", "m", "day"])
        where = f" WHERE {pick.choice(OF_ONE).format(a=name)}" if pick.random() < 0.4 else ""
        return f"{pick.choice(seen)}.{column} {no}IN (SELECT {name}.{column} FROM {name}{where})"
    return f"{no}EXISTS (SELECT 1 FROM {name} WHERE {on(made, seen, name)})"

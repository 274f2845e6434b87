"""What binds how tightly without brackets: chains of operators mean what they mean to DuckDB."""

from __future__ import annotations

import random

import duckdb
import pyarrow as pa

import eddy

TABLE = pa.table(
    {
        "p": pa.array([True, False, None, False, True, None, True, False]),
        "q": pa.array([None, True, True, False, True, None, False, None]),
        "n": pa.array([1, 2, None, 5, 3, 4, None, 1], pa.int64()),
        "m": pa.array([3, None, 1, 2, 5, 4, 1, 2], pa.int64()),
        "s": pa.array(["a", "ab", None, "b1", "1", "", "true", "a"]),
    }
)
AGAIN = 500


class Chain:
    """A random expression without brackets, but for those of IN: what belongs together is the reader's to say."""

    def __init__(self, seed: int) -> None:
        self.pick = random.Random(seed)

    def truth(self, depth: int) -> str:
        forms = ["{t} = {t}", "{t} <> {t}", "{n} < {n}", "{n} >= {n}", "{s} = {s}", "{n} BETWEEN {n} AND {n}"]
        forms += [
            "{n} NOT BETWEEN {n} AND {n}",
            "{n} IN (1, 2)",
            "{n} NOT IN (1, 3)",
            "{s} LIKE 'a%'",
            "{s} ~ 'a'",
        ]
        forms += ["{s} NOT LIKE {c}", "{t} IS NULL", "{t} IS NOT NULL", "{t} IS TRUE", "{t} IS NOT FALSE"]
        forms += ["{n} IS NULL", "{s} IS NOT NULL", "NOT {t}", "{t} AND {t}", "{t} OR {t}", "{t} AND {t}"]
        forms += ["{t} IS DISTINCT FROM {t}", "{n} IS NOT DISTINCT FROM {n}", "{t} ISNULL", "{t} NOTNULL"]
        return self._filled(self.pick.choice(forms if depth else ["p", "q", "TRUE"]), depth)

    def number(self, depth: int) -> str:
        forms = [
            "{n} + {n}",
            "{n} - {n}",
            "{n} * {n}",
            "{n} % 3",
            "-{n}",
            "+{n}",
            "{n} // 2",
            "{n} - 2 - {n}",
        ]
        return self._filled(self.pick.choice(forms if depth else ["n", "m", "1", "2", "-2"]), depth)

    def text(self, depth: int) -> str:
        return self._filled(
            self.pick.choice(["{s} || {s}", "{n} || {s}"] if depth else ["s", "'a'", "'b'"]), depth
        )

    def _filled(self, form: str, depth: int) -> str:
        for part, made in (("{t}", self.truth), ("{n}", self.number), ("{s}", self.text)):
            while part in form:
                form = form.replace(part, made(max(0, depth - self.pick.choice([1, 1, 2]))), 1)
        return form.replace("{c}", self.pick.choice(["'a%'", "'_' || '%'"]))


def ours(text: str) -> list[object] | None:
    """What an engine finds; None if the statement is refused."""
    try:
        query = eddy.sql(f"SELECT {text} AS z FROM A", tables={"A": TABLE})
    except eddy.QueryError:
        return None
    return eddy.Eddy(query).push("A", TABLE).to_pydict()["z"]


def test_chains_without_brackets_are_what_they_are_to_duckdb():
    """Where both read a chain of NOT, IS, comparisons, BETWEEN, IN, LIKE, ||, + - * % // and signs, they agree."""
    compared = 0
    with duckdb.connect() as connection:
        connection.register("A", TABLE)
        for seed in range(AGAIN):
            chain = Chain(seed)
            text = chain.pick.choice([chain.truth, chain.truth, chain.number, chain.text])(
                chain.pick.randrange(2, 5)
            )
            found = ours(text)
            if found is None:
                continue
            try:
                expected = [value for (value,) in connection.sql(f"SELECT {text} AS z FROM A").fetchall()]
            except duckdb.Error:
                continue
            assert found == expected, text
            compared += 1
    assert compared > AGAIN / 3

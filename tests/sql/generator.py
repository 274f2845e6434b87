"""Random SQL statements and rows, for a comparison with DuckDB.

Only what both understand alike: no overflow, no NaN, and no values outside the domain of a function.
"""

from __future__ import annotations

import datetime
import decimal
import random
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import pyarrow as pa
from attrs import frozen

from tests.sql.columns import COLUMNS, KINDS, PARTS, PATTERNS, SCHEMA, STEPS, TYPES, WORDS
from tests.sql.sources import Source, source


@frozen
class Statement:
    """One statement, as an engine reads it and as DuckDB does, and the tables that it reads."""

    text: str
    duckdb: str
    fed: tuple[str, ...]
    signed: bool = False
    """Whether an engine takes results back until all rows are there."""
    first: tuple[str, ...] = ()
    """Tables of which all rows come before those of others."""
    chained: bool = False
    """Whether it has joins that can be final in some orders alone, and some that are refused."""


class Generator:
    """One random statement, with the rows of its tables."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.names = list("ABC")
        self.fed = self.names

    def table(self, most: int = 7, schema: pa.Schema = SCHEMA) -> pa.Table:
        """Rows of one table."""
        n = self.random.randrange(most)
        rows = [{one.name: self._value(KINDS[one.type]) for one in schema} for _ in range(n)]
        return pa.Table.from_pylist(rows, schema)

    def _value(self, kind: str) -> object:
        pick = self.random
        if pick.random() < 0.15:
            return None
        if kind == "ts":
            return datetime.datetime(2024, 1, 1) + datetime.timedelta(
                days=pick.randrange(-400, 400), milliseconds=pick.randrange(86_400_000)
            )
        return {
            "int": lambda: pick.randrange(-3, 5),
            "float": lambda: pick.randrange(-12, 20) / 4,
            "str": lambda: pick.choice(WORDS),
            "bool": lambda: pick.random() < 0.5,
            "dec": lambda: decimal.Decimal(pick.randrange(-8, 12)) / 4,
            "day": lambda: datetime.date(2024, 1, 1) + datetime.timedelta(days=pick.randrange(-3, 4)),
        }[kind]()

    @contextmanager
    def naming(self, names: Sequence[str]) -> Iterator[None]:
        """Expressions name columns of these tables alone."""
        before, self.names = self.names, list(names)
        yield
        self.names = before

    def statement(self) -> Statement:
        """SELECT expressions FROM some tables WHERE ..."""
        of = self.source()
        items = [f"{self.any(3)} AS c{i}" for i in range(self.random.randrange(1, 5))]
        return self._said(of, f"SELECT {', '.join(items)}")

    def grouped(self) -> Statement:
        """SELECT of groups, by columns and expressions, with or without aggregates and HAVING."""
        of, pick = self.source(), self.random
        keys = [self.any(1) for _ in range(pick.choice([0, 1, 1, 2]))]
        keys = [
            key if any(f"{name}." in key for name in self.names) else f"{self.names[0]}.s" for key in keys
        ]
        items = [key for key in keys if pick.random() < 0.8]
        items += [self.aggregate() for _ in range(pick.choice([0, 1, 2, 3]))]
        if not items:
            items = ["COUNT(*)"]
        if keys and pick.random() < 0.3:
            items.append(f"COALESCE({keys[0]}, {keys[0]})")
        if pick.random() < 0.3:
            items.append("COUNT(*) * 2 + 1")
        pick.shuffle(items)
        behind = f" GROUP BY {', '.join(keys)}" if keys else ""
        if pick.random() < 0.4:
            behind += f" HAVING {self.having()}"
        text = ", ".join(f"{item} AS c{i}" for i, item in enumerate(items))
        return self._said(of, f"SELECT {text}", behind)

    def having(self) -> str:
        """A condition on groups."""
        pick, aggregate = self.random, self.aggregate()
        forms = [
            f"{aggregate} IS NOT NULL AND COUNT(*) > {pick.randrange(3)}",
            f"COUNT(*) > 1 OR {aggregate} IS NULL",
        ]
        forms += [f"NOT (COUNT(*) = 1 AND {aggregate} IS NOT NULL)", "COUNT(*) BETWEEN 1 AND 3"]
        forms.append("COUNT(*) IS DISTINCT FROM 2")
        return pick.choice(forms)

    def distinct(self) -> Statement:
        """SELECT DISTINCT."""
        of = self.source()
        items = [f"{self.any(1)} AS c{i}" for i in range(self.random.randrange(1, 4))]
        return self._said(of, f"SELECT DISTINCT {', '.join(items)}")

    def source(self) -> Source:
        """FROM, of which expressions then name the tables."""
        of = source(self)
        self.names, self.fed = list(of.shown), list(of.fed)
        return of

    def _said(self, of: Source, select: str, behind: str = "") -> Statement:
        conditions = self.conditions(of)

        def text(tables: str, more: Sequence[str]) -> str:
            every = [f"({condition})" for condition in conditions] + list(more)
            where = " WHERE " + " AND ".join(every) if every else ""
            return f"{of.before}{select} FROM {tables}{where}{behind}"

        other = text(of.duckdb, of.duckdb_conditions or of.conditions)
        return Statement(text(of.text, of.conditions), other, tuple(of.fed), of.signed, of.first, of.chained)

    def aggregate(self) -> str:
        """An aggregate of an expression."""
        pick = self.random
        forms = [
            "COUNT(*)",
            "COUNT({any})",
            "COUNT(DISTINCT {any})",
            "SUM({int})",
            "SUM({float})",
            "AVG({int})",
            "SUM({dec})",
        ]
        forms += [
            "MIN({any})",
            "MAX({any})",
            "MEDIAN({int})",
            "SUM(DISTINCT {int})",
            "MIN({str})",
            "MAX({str})",
            "BOOL_AND({bool})",
            "BOOL_OR({bool})",
            "QUANTILE_DISC({any}, 0.6)",
        ]
        forms += ["STDDEV({int})", "VAR_POP({int})", "VARIANCE({float})", "QUANTILE_CONT({int}, 0.3)"]
        form = pick.choice(forms).replace("{any}", f"{{{pick.choice(list(TYPES))}}}")
        if pick.random() < 0.25:
            form += " FILTER (WHERE {bool})"
        return self._of(form, 1)

    def conditions(self, of: Source) -> list[str]:
        """Conditions of WHERE, some between tables and some on one."""
        pick = self.random
        between = [] if of.connected else self.names[1:]
        parts = [self.link([self.names[0]], name) for name in between if pick.random() < 0.6]
        if len(self.names) == len(of.fed):
            parts += [self.expression("bool", pick.choice([1, 2])) for _ in range(pick.randrange(3))]
        else:
            parts += [self.expression("bool", 1) for _ in range(pick.randrange(2))]
        return parts

    def link(self, before: list[str], name: str) -> str:
        """A condition that joins a table with one of those before it."""
        pick = self.random
        other, column = pick.choice(before), pick.choice(["i", "j", "s", "at", "f"])
        return pick.choice(
            [
                f"{other}.{column} = {name}.{column}",
                f"{other}.i = {name}.j",
                f"{other}.i + 1 = {name}.j",
                f"UPPER({other}.s) = UPPER({name}.t)",
                f"{other}.i IS NOT DISTINCT FROM {name}.i",
                f"{other}.f BETWEEN {name}.f - 1 AND {name}.f + 1",
                f"{other}.i < {name}.i",
                f"{other}.s || {name}.s LIKE '%b%'",
            ]
        )

    def any(self, depth: int) -> str:
        """An expression of any type."""
        return self.expression(self.random.choice(list(TYPES)), depth)

    def expression(self, kind: str, depth: int) -> str:
        """An expression of a type, not deeper than so."""
        if depth <= 0 or self.random.random() < 0.15:
            return self._leaf(kind)
        general = [self._case, self._coalesce, self._extreme, self._nullif]
        own = [getattr(self, f"_{kind}")] * 6
        return self.random.choice([*own, *general])(kind=kind, depth=depth - 1)

    def _leaf(self, kind: str) -> str:
        pick = self.random
        if pick.random() < 0.75:
            names = [name for name, of in COLUMNS.items() if of == kind]
            return f"{pick.choice(self.names)}.{pick.choice(names)}"
        return {
            "int": lambda: str(pick.randrange(-2, 6)),
            "float": lambda: f"{pick.randrange(1, 12) / 4}",
            "str": lambda: f"'{pick.choice(WORDS)}'",
            "bool": lambda: pick.choice(["TRUE", "FALSE"]),
            "ts": lambda: f"TIMESTAMP '2024-0{pick.randrange(1, 9)}-1{pick.randrange(9)} 12:30:00'",
            "dec": lambda: f"CAST({pick.randrange(-4, 9) / 4} AS DECIMAL(8, 2))",
            "day": lambda: f"DATE '2024-01-0{pick.randrange(1, 4)}'",
        }[kind]()

    def _of(self, form: str, depth: int) -> str:
        """A form with an expression of a type for every `{type}`."""
        while "{" in form:
            start, end = form.index("{"), form.index("}")
            form = f"{form[:start]}{self.expression(form[start + 1 : end], depth)}{form[end + 1 :]}"
        return form

    def _case(self, kind: str, depth: int) -> str:
        forms = [
            "CASE WHEN {bool} THEN {K} ELSE {K} END",
            "CASE WHEN {bool} THEN {K} WHEN {bool} THEN {K} END",
        ]
        forms.append("CASE {int} WHEN 1 THEN {K} WHEN 2 THEN {K} END")
        return self._of(self.random.choice(forms).replace("{K}", f"{{{kind}}}"), depth)

    def _coalesce(self, kind: str, depth: int) -> str:
        return self._of(f"COALESCE({{{kind}}}, {{{kind}}})", depth)

    def _extreme(self, kind: str, depth: int) -> str:
        function = self.random.choice(["LEAST", "GREATEST"])
        return self._of(f"{function}({{{kind}}}, {{{kind}}})", depth)

    def _nullif(self, kind: str, depth: int) -> str:
        return self._of(f"NULLIF({{{kind}}}, {{{kind}}})", depth)

    def _int(self, kind: str, depth: int) -> str:
        pick = self.random
        forms = [
            "({int} + {int})",
            "({int} - {int})",
            "({int} % 3)",
            "ABS({int})",
            "-({int})",
            "MOD({int}, 4)",
        ]
        forms += ["LENGTH({str})", "SIGN({float})", f"STRPOS({{str}}, '{pick.choice('abX')}')"]
        forms += ["CAST(CAST({float} AS DOUBLE) AS BIGINT)", "CAST({bool} AS BIGINT)", "({int} * 2)"]
        step = pick.choice([step for step in STEPS if step != "week"])  # of which DuckDB counts whole ones
        forms += [f"EXTRACT({pick.choice(PARTS)} FROM {{ts}})"]
        forms += [f"DATE_DIFF('{step}', {{ts}}, {pick.choice(self.names)}.at)"]
        return self._of(pick.choice(forms), depth)

    def _float(self, kind: str, depth: int) -> str:
        forms = ["({float} + {float})", "({float} - {int})", "({float} * 0.5)", "({int} / (ABS({int}) + 1))"]
        forms += ["ROUND({float})", "FLOOR({float})", "CEIL({float})", "SQRT(ABS({float}))"]
        forms += [
            "LN(ABS({float}) + 1)",
            "POWER(ABS({float}), 0.5)",
            "ROUND({float}, 1)",
            "CAST({int} AS DOUBLE)",
        ]
        return self._of(self.random.choice(forms), depth)

    def _str(self, kind: str, depth: int) -> str:
        forms = [
            "({str} || {str})",
            "UPPER({str})",
            "LOWER({str})",
            "TRIM({str})",
            "LTRIM({str})",
            "REVERSE({str})",
        ]
        forms += [
            "SUBSTRING({str}, 2, 2)",
            "SUBSTRING({str}, 2)",
            "REPLACE({str}, 'b', 'zz')",
            "LEFT({str}, 2)",
        ]
        forms += ["RIGHT({str}, 2)", "CAST({int} AS VARCHAR)", "CONCAT({str}, '-', {str})"]
        forms += ["REGEXP_REPLACE({str}, '[aA]+', '<>')", "REGEXP_REPLACE({str}, '(b)', '\\1\\1', 'g')"]
        forms += ["REGEXP_EXTRACT({str}, 'b(.)', 1)", "CAST({bool} AS VARCHAR)"]
        return self._of(self.random.choice(forms), depth)

    def _bool(self, kind: str, depth: int) -> str:
        pick = self.random
        op = pick.choice(["=", "<>", "<", "<=", ">", ">="])
        of = pick.choice(["int", "float", "str", "ts", "dec", "day"])
        forms = [f"({{{of}}} {op} {{{of}}})"] * 3
        forms += ["({bool} AND {bool})", "({bool} OR {bool})", "(NOT {bool})", f"({{{of}}} IS NULL)"]
        forms += [f"({{{of}}} IS NOT NULL)", "({int} BETWEEN {int} AND {int})", "({int} IN (1, 2, {int}))"]
        forms += ["({int} NOT IN (1, 2))", "({str} IN ('a', 'ab'))", f"({{{of}}} IS DISTINCT FROM {{{of}}})"]
        forms += [
            f"({{str}} LIKE '{pick.choice(PATTERNS)}')",
            f"({{str}} NOT ILIKE '{pick.choice(PATTERNS)}')",
        ]
        forms += ["STARTS_WITH({str}, 'a')", "CONTAINS({str}, 'b')", "REGEXP_MATCHES({str}, '^[a-b]+$')"]
        forms += ["({str} LIKE '50!%' ESCAPE '!')", "({bool} IS TRUE)"]
        return self._of(pick.choice(forms), depth)

    def _dec(self, kind: str, depth: int) -> str:
        return self._of(
            self.random.choice(["({dec} + {dec})", "({dec} - {dec})", "-({dec})", "ABS({dec})"]), depth
        )

    def _day(self, kind: str, depth: int) -> str:
        return self._of("CAST({ts} AS DATE)", depth)

    def _ts(self, kind: str, depth: int) -> str:
        pick = self.random
        forms = [f"DATE_TRUNC('{pick.choice(STEPS)}', {{ts}})", "({ts} + INTERVAL '90' MINUTE)"]
        forms.append("({ts} - INTERVAL '2' DAY)")
        return self._of(pick.choice(forms), depth)

"""The functions that expressions may call: one table, which SQL, Python, printing and evaluation read.

A line has the function's name, sqlglot's node for it, the rule of its types and what computes it, a column at a time.
To add a function is to add a line.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from attrs import field, frozen
from sqlglot import exp

from eddy.query import signatures as takes
from eddy.query import typing_rules
from eddy.query.expressions import Expression, Get
from eddy.query.signatures import MANY, Rule
from eddy.values import number_functions as numbers
from eddy.values import text_functions as text
from eddy.values import time_functions as time
from eddy.values.compute import Datum, coerced, from_datum, to_datum
from eddy.values.types import INT64, STRING, Column, ColumnType

Run = Callable[[Sequence[Datum], ColumnType], Datum]


@frozen(eq=False)
class Function:
    """One function of expressions."""

    name: str
    node: type[exp.Expr] | None
    """sqlglot's class for it; None: sqlglot knows it by its name alone."""
    rule: Rule
    run: Run
    strict: bool = True
    """Whether it is NULL as soon as an argument is."""
    infix: bool = False
    """Whether it is written between its first two arguments."""
    binding: int = 9
    """How tightly its text holds."""


_LINES = (
    Function("ROUND", exp.Round, takes.rounding, numbers.rounded),
    Function("FLOOR", exp.Floor, takes.rounding, numbers.floor),
    Function("CEIL", exp.Ceil, takes.rounding, numbers.ceil),
    Function("TRUNC", exp.Trunc, takes.rounding, numbers.trunc),
    Function("SIGN", exp.Sign, takes.sign, numbers.sign),
    Function("SQRT", exp.Sqrt, takes.floats(1), numbers.sqrt),
    Function("EXP", exp.Exp, takes.floats(1), numbers.exp),
    Function("LN", exp.Ln, takes.floats(1), numbers.ln),
    Function("LOG", exp.Log, takes.floats(1, 2), numbers.log),
    Function("POWER", exp.Pow, takes.floats(2), numbers.power),
    Function("LEAST", exp.Least, takes.alike(1), numbers.least, strict=False),
    Function("GREATEST", exp.Greatest, takes.alike(1), numbers.greatest, strict=False),
    Function("COALESCE", exp.Coalesce, takes.alike(1), numbers.coalesce, strict=False),
    Function("CASE", None, takes.case, numbers.case, strict=False),
    Function("||", exp.DPipe, takes.joined(2), text.joined, infix=True),
    Function("CONCAT", exp.Concat, takes.joined(1, MANY), text.concat, strict=False),
    Function("UPPER", exp.Upper, takes.texts(1), text.upper),
    Function("LOWER", exp.Lower, takes.texts(1), text.lower),
    Function("REVERSE", exp.Reverse, takes.texts(1), text.reverse),
    Function("REPEAT", exp.Repeat, takes.repeated, text.repeated),
    Function("TRIM", exp.Trim, takes.pattern(1, 2, result=STRING), text.trim),
    Function("LTRIM", None, takes.pattern(1, 2, result=STRING), text.ltrim),
    Function("RTRIM", None, takes.pattern(1, 2, result=STRING), text.rtrim),
    Function("LENGTH", exp.Length, takes.texts(1, result=INT64), text.length),
    Function("SUBSTRING", exp.Substring, takes.places(2, 3), text.substring),
    Function("LEFT", exp.Left, takes.places(2), text.left),
    Function("RIGHT", exp.Right, takes.places(2), text.right),
    Function("REPLACE", exp.Replace, takes.pattern(3, result=STRING), text.replace),
    Function("STRPOS", exp.StrPosition, takes.pattern(2, result=INT64), text.position),
    Function("LIKE", exp.Like, takes.pattern(2, 3), text.like, infix=True),
    Function("ILIKE", exp.ILike, takes.pattern(2, 3), text.ilike, infix=True),
    Function("STARTS_WITH", exp.StartsWith, takes.pattern(2), text.starts_with),
    Function("ENDS_WITH", exp.EndsWith, takes.pattern(2), text.ends_with),
    Function("CONTAINS", exp.Contains, takes.pattern(2), text.contains),
    Function("REGEXP_LIKE", exp.RegexpLike, takes.pattern(2), text.regexp_like),
    Function("REGEXP_REPLACE", exp.RegexpReplace, takes.pattern(3, 4, result=STRING), text.regexp_replace),
    Function("REGEXP_EXTRACT", exp.RegexpExtract, takes.regexp_extract, text.regexp_extract),
    Function("EXTRACT", exp.Extract, takes.times(1, INT64), time.extract),
    Function("DATE_TRUNC", exp.DateTrunc, takes.times(1), time.date_trunc),
    Function("DATE_DIFF", None, takes.times(2, INT64), time.date_diff),
    Function("+ MONTHS", None, takes.months, time.months_later, binding=5),
)
FUNCTIONS = {function.name: function for function in _LINES}
BY_NODE = {function.node: function for function in _LINES if function.node is not None}


@frozen
class Apply(Expression):
    """A function of the table, of some arguments."""

    function: str
    arguments: tuple[Expression, ...]
    type: ColumnType = field(init=False)
    _wanted: tuple[ColumnType, ...] = field(init=False, eq=False, repr=False)
    _constant: tuple[bool, ...] = field(init=False, eq=False, repr=False)

    def __attrs_post_init__(self) -> None:
        for argument in self.arguments:
            typing_rules.comparable(argument)
        arguments, wanted, kind = FUNCTIONS[self.function].rule(self.function, self.arguments)
        for name, value in (
            ("arguments", arguments),
            ("type", kind),
            ("_wanted", wanted),
            ("_constant", tuple(not argument.columns for argument in arguments)),
        ):
            object.__setattr__(self, name, value)

    @property
    def binding(self) -> int:
        function = FUNCTIONS[self.function]
        return 4 if function.infix else function.binding

    def evaluate(self, get: Get) -> Column:
        given = []
        for argument, wanted, constant in zip(self.arguments, self._wanted, self._constant, strict=True):
            column = coerced(argument.evaluate(get), argument.type, wanted)
            given.append(to_datum(column, wanted, constant))
        return from_datum(FUNCTIONS[self.function].run(given, self.type), self.type)

    def __str__(self) -> str:
        written = _WRITTEN.get(self.function)
        if written is not None:
            return written(self.arguments)
        if FUNCTIONS[self.function].infix:
            left, right, *escape = self.arguments
            text = f"{left.within(5)} {self.function} {right.within(5)}"
            return f"{text} ESCAPE {escape[0]}" if escape else text
        return f"{self.function}({', '.join(map(str, self.arguments))})"


def _case(arguments: Sequence[Expression]) -> str:
    pairs = zip(arguments[:-1:2], arguments[1:-1:2], strict=True)
    whens = " ".join(f"WHEN {condition} THEN {value}" for condition, value in pairs)
    return f"CASE {whens} ELSE {arguments[-1]} END"


def _extract(arguments: Sequence[Expression]) -> str:
    part: Any = arguments[0]
    return f"EXTRACT({part.value.upper()} FROM {arguments[1]})"


def _later(arguments: Sequence[Expression]) -> str:
    months: Any = arguments[1]
    sign = "-" if months.value < 0 else "+"
    return f"{arguments[0].within(5)} {sign} INTERVAL '{abs(months.value)} months'"


def _side(position: str) -> Callable[[Sequence[Expression]], str]:
    def written(arguments: Sequence[Expression]) -> str:
        if len(arguments) == 1:
            return f"{position}TRIM({arguments[0]})"
        word = {"": "BOTH", "L": "LEADING", "R": "TRAILING"}[position]
        return f"TRIM({word} {arguments[1]} FROM {arguments[0]})"

    return written


_WRITTEN: dict[str, Callable[[Sequence[Expression]], str]] = {
    "CASE": _case,
    "EXTRACT": _extract,
    "+ MONTHS": _later,
    "TRIM": _side(""),
    "LTRIM": _side("L"),
    "RTRIM": _side("R"),
}

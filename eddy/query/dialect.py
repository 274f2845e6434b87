"""The dialect in which sqlglot reads: its own, and aggregates that it has no name for, or another one.

DATE_DIFF is a function like any other: no name in it is taken for a unit. What binds how tightly is as in PostgreSQL
and DuckDB: IS and IS DISTINCT FROM less than comparisons, so that `a = b IS NULL` is `(a = b) IS NULL`. And `**` is a
power, `//` a quotient of whole numbers, `~` a match of a regular expression.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from sqlglot import TokenType, exp
from sqlglot.dialects.dialect import Dialect
from sqlglot.parser import IsPredicatePrecedence
from sqlglot.parser import Parser as Plain
from sqlglot.tokens import Tokenizer as PlainTokens


class BoolAnd(exp.Expression, exp.AggFunc):
    """BOOL_AND(x); sqlglot calls it LOGICAL_AND."""


class BoolOr(exp.Expression, exp.AggFunc):
    """BOOL_OR(x)."""


class VarSamp(exp.Expression, exp.AggFunc):
    """VAR_SAMP(x)."""


class VarPop(exp.Expression, exp.AggFunc):
    """VAR_POP(x)."""


class QuantileCont(exp.Expression, exp.AggFunc):
    """QUANTILE_CONT(x, share)."""

    arg_types = {"this": True, "quantile": False}  # noqa: RUF012  # as sqlglot declares it


class QuantileDisc(exp.Expression, exp.AggFunc):
    """QUANTILE_DISC(x, share)."""

    arg_types = {"this": True, "quantile": False}  # noqa: RUF012


class WholeQuotient(exp.Expression, exp.Binary, exp.Func):
    """`x // y`, which sqlglot would print as a CAST of x / y."""

    _sql_names: ClassVar[list[str]] = ["DIV"]


_PLAIN = ("DATE_DIFF", "DATEDIFF", "TO_CHAR", "DATE_ADD", "DATE_SUB", "INITCAP", "EPOCH_MS")
"""Functions like any other: sqlglot's classes have arguments that nobody wrote, or no text at all."""


class Eddy(Dialect):
    """What `parse_sql` reads. What it prints is sqlglot's own dialect."""

    NULL_ORDERING = "nulls_are_last"

    class Tokenizer(PlainTokens):
        KEYWORDS: ClassVar[dict[str, TokenType]] = {
            **PlainTokens.KEYWORDS,
            "**": TokenType.DSTAR,
            "//": TokenType.DIV,
            "~": TokenType.RLIKE,
        }

    class Parser(Plain):
        IS_PREDICATE_PRECEDENCE: ClassVar[IsPredicatePrecedence] = IsPredicatePrecedence.LOW
        FACTOR: ClassVar[dict[TokenType, type[exp.Binary]]] = {**Plain.FACTOR, TokenType.DIV: WholeQuotient}
        EXPONENT: ClassVar[dict[TokenType, type[exp.Expr]]] = {TokenType.DSTAR: exp.Pow}
        UNARY_PARSERS: ClassVar[Any] = {
            **Plain.UNARY_PARSERS,
            TokenType.RLIKE: Plain.UNARY_PARSERS[TokenType.TILDE],
        }
        FUNCTIONS: ClassVar[dict[str, Callable[..., Any]]] = {
            **{name: made for name, made in Plain.FUNCTIONS.items() if name not in _PLAIN},
            "BOOL_AND": BoolAnd.from_arg_list,
            "EVERY": BoolAnd.from_arg_list,
            "BOOL_OR": BoolOr.from_arg_list,
            "VAR_SAMP": VarSamp.from_arg_list,
            "VAR_POP": VarPop.from_arg_list,
            "STD": exp.Stddev.from_arg_list,
            "QUANTILE_CONT": QuantileCont.from_arg_list,
            "QUANTILE_DISC": QuantileDisc.from_arg_list,
        }

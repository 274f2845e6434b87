"""The dialect in which sqlglot reads: its own, and aggregates that it has no name for, or another one.

DATE_DIFF is a function like any other: no name in it is taken for a unit.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from sqlglot import exp
from sqlglot.dialects.dialect import Dialect
from sqlglot.parser import Parser as Plain


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


class Eddy(Dialect):
    """What `parse_sql` reads. What it prints is sqlglot's own dialect."""

    NULL_ORDERING = "nulls_are_last"

    class Parser(Plain):
        FUNCTIONS: ClassVar[dict[str, Callable[..., Any]]] = {
            **{name: made for name, made in Plain.FUNCTIONS.items() if name not in ("DATE_DIFF", "DATEDIFF")},
            "BOOL_AND": BoolAnd.from_arg_list,
            "EVERY": BoolAnd.from_arg_list,
            "BOOL_OR": BoolOr.from_arg_list,
            "VAR_SAMP": VarSamp.from_arg_list,
            "VAR_POP": VarPop.from_arg_list,
            "STD": exp.Stddev.from_arg_list,
            "QUANTILE_CONT": QuantileCont.from_arg_list,
            "QUANTILE_DISC": QuantileDisc.from_arg_list,
        }

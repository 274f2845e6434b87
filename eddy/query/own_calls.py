"""The user's own functions and aggregates that a statement may call, while it is being read.

Conditions and items of SELECT are read in several places, some as texts, so these are known by context.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import chain
from typing import Any

from sqlglot import exp

from eddy.query.expressions import Expression

Make = Callable[[Sequence[Expression]], Expression]
"""What makes an expression of the arguments of a call."""
_known: ContextVar[Mapping[str, Make]] = ContextVar("functions of the user's own", default={})  # noqa: B039  # never changed


_aggregates: ContextVar[Mapping[str, Any]] = ContextVar("aggregates of the user's own", default={})  # noqa: B039


@contextmanager
def own_known(functions: Mapping[str, Make], aggregates: Mapping[str, Any]) -> Iterator[None]:
    """Calls of these names, in capitals, are the user's: of functions of rows, and of aggregates."""
    tokens = _known.set(functions), _aggregates.set(aggregates)
    try:
        yield
    finally:
        _known.reset(tokens[0])
        _aggregates.reset(tokens[1])


def own_names() -> Iterator[str]:
    """The functions and aggregates that are known, in capitals."""
    return chain(_known.get(), _aggregates.get())


def own_call(node: exp.Expr) -> Make | None:
    """What makes the expression for a call of one of them; None if it is none."""
    found: Make | None = _called(node, _known.get())
    return found


def own_aggregate(node: exp.Expr) -> Any:
    """The aggregate of the user's own that a node calls; None if it calls none."""
    return _called(node, _aggregates.get())


def has_aggregate(node: exp.Expr) -> bool:
    """Whether there is an aggregate in it."""
    if node.find(exp.AggFunc) is not None:
        return True
    return bool(_aggregates.get()) and any(
        own_aggregate(part) is not None for part in node.find_all(exp.Func)
    )


def _called(node: exp.Expr, known: Mapping[str, Any]) -> Any:
    """sqlglot has classes of its own for many names."""
    if not known or not isinstance(node, exp.Func) or isinstance(node, exp.Binary):
        return None
    names = [node.name] if isinstance(node, exp.Anonymous) else node.sql_names()
    return next((known[name.upper()] for name in names if name.upper() in known), None)

"""The user's own functions that a statement may call, while it is being read.

Conditions and items of SELECT are read in several places, some as texts, so the functions are known by context.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar

from sqlglot import exp

from eddy.query.expressions import Expression

Make = Callable[[Sequence[Expression]], Expression]
"""What makes an expression of the arguments of a call."""
_known: ContextVar[Mapping[str, Make]] = ContextVar("functions of the user's own", default={})  # noqa: B039  # never changed


@contextmanager
def functions_known(functions: Mapping[str, Make]) -> Iterator[None]:
    """Calls of these names, in capitals, are the user's."""
    token = _known.set(functions)
    try:
        yield
    finally:
        _known.reset(token)


def own_names() -> Iterator[str]:
    """The functions that are known, in capitals."""
    return iter(_known.get())


def own_call(node: exp.Expr) -> Make | None:
    """What makes the expression for a call of one of them; None if it is none. sqlglot has classes for many names."""
    known = _known.get()
    if not known or not isinstance(node, exp.Func) or isinstance(node, exp.Binary):
        return None
    names = [node.name] if isinstance(node, exp.Anonymous) else node.sql_names()
    return next((known[name.upper()] for name in names if name.upper() in known), None)

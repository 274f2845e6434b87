"""The user's own functions of rows, by the names under which SQL calls them."""

from __future__ import annotations

from collections.abc import Iterable

from eddy.errors import QueryError
from eddy.query.function import UserFunction
from eddy.query.own_calls import Make
from eddy.query.predicate import UserPredicate
from eddy.shown import shown

OwnFunctionOfRows = UserFunction | UserPredicate


def functions_by_name(functions: object) -> dict[str, Make]:
    """What makes the expression of a call of each, by names in capitals."""
    found: dict[str, Make] = {}
    for function in functions if isinstance(functions, Iterable) else [None]:
        if not isinstance(function, (UserFunction, UserPredicate)):
            wrong = shown(functions if function is None else function)
            raise QueryError(
                "functions takes a list of functions of your own, eddy.function(f, type=...) and eddy.predicate(f), "
                f"not {wrong}; aggregates go into aggregates="
            )
        name = str(function.name or getattr(function.function, "__name__", "function"))
        if not name.isidentifier():
            raise QueryError(
                f"a function needs a name that SQL can call it by, not {name!r}: give "
                "eddy.function(..., name='initials')"
            )
        if name.upper() in found:
            raise QueryError(f"two functions are called {name}: give one another name")
        found[name.upper()] = function.called
    return found

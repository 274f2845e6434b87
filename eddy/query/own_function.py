"""An aggregate of the user's own in plain Python: a function of the values of a group."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from attrs import evolve, field, frozen

from eddy.errors import QueryError
from eddy.shown import shown
from eddy.values.types import ColumnType, column_type


@frozen
class OwnFunction:
    """What `aggregate_function` returns: a function, the type of its values, and what it takes, if it was told."""

    function: Callable[..., Any]
    type: ColumnType
    name: str
    columns: tuple[str, ...] = field(default=(), eq=False)

    def of(self, *columns: str) -> OwnFunction:
        """The same of these expressions."""
        return evolve(self, columns=columns)


def aggregate_function(
    function: Callable[..., Any], *columns: str, type: object, name: str | None = None
) -> OwnFunction:
    """An aggregate of a query: `aggregates={"spread": eddy.aggregate_function(spread, "A.x", type="float64")}`.

    ``function`` is given an Arrow array for each of the expressions: the values of all live results of one group, in
    the order of their latest events, with nulls where they are NULL. It returns one value of that ``type``, or None
    for NULL, and must depend on these values alone. It is called once for each group that an event has changed, with
    all of its values, so that an event costs what the group is long; an `eddy.Aggregate` is compiled, and told only
    what comes and goes. A group without results is NULL, and the function is not called. An error that it raises
    stops the engine.

    Without columns it is for SQL: `eddy.sql(..., aggregates=[eddy.aggregate_function(spread, type="float64")])`, where
    it is called by its ``name``, which is that of the function unless it is given.
    """
    if not callable(function):
        raise QueryError(f"aggregate_function needs a function of Arrow arrays, not {shown(function)}")
    if not all(isinstance(text, str) and text.strip() for text in columns):
        raise QueryError(
            "aggregate_function needs what its function takes, such as "
            "aggregate_function(f, 'A.x', 'UPPER(B.s)', type='float64')"
        )
    called = getattr(function, "__name__", "function") if name is None else name
    if not isinstance(called, str) or not called.isidentifier():
        raise QueryError(
            f"an aggregate needs a name that SQL can call it by, not {called!r}: give "
            "aggregate_function(..., name='spread')"
        )
    return OwnFunction(function, column_type(type), called, columns)

"""A user's own function of columns: Python that takes Arrow arrays, and returns one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa
from attrs import field, frozen
from sqlglot import exp

from eddy.errors import EddyError, QueryError
from eddy.query.expressions import Expression, Get
from eddy.query.names import Scope
from eddy.query.parse import parse_sql, translate
from eddy.shown import shown
from eddy.values import arrow
from eddy.values.compute import from_datum, repeated, to_datum
from eddy.values.fitting import presented
from eddy.values.types import Column, ColumnType, column_type


@frozen(eq=False)
class UserFunction:
    """What `function` returns: a function and the expressions that it takes, not yet bound to a query."""

    function: Callable[..., Any]
    arguments: tuple[str, ...]
    type: ColumnType
    name: str | None

    def bind(self, scope: Scope) -> Expression:
        """The expression of a query."""
        if not self.arguments:
            name = getattr(self.function, "__name__", "f")
            raise QueryError(
                f"function({name}, ...) names no columns: name them, as in function({name}, 'A.x', ...); without it is "
                "for eddy.sql(..., functions=[...])"
            )
        bound = tuple(translate(parse_sql(text, exp.Condition), scope) for text in self.arguments)
        return Vectorised(self.function, bound, self.type)

    def called(self, arguments: Sequence[Expression]) -> Expression:
        """The expression of a call in SQL."""
        return Vectorised(self.function, tuple(arguments), self.type, self.name)


def function(
    function: Callable[..., Any], *arguments: str, type: object, name: str | None = None
) -> UserFunction:
    """An item of `select` and `group_by` or, if its type is bool, of `where`: a function of expressions.

    ``function`` is given an Arrow array for each of them, with nulls where they are NULL, and returns as many values,
    as an array of Arrow or numpy, or a list. What it returns for a row may depend on that row alone: rows come in
    batches of any size, and may be asked for again. ``type`` is the type of its values, such as "string"; ``name`` is
    what `select` calls it. An error that it raises in `select` comes from who reads the result; in a predicate between
    streams it stops the engine.

    Without expressions it is for SQL: `eddy.sql(..., functions=[eddy.function(initials, type="string")])`, where it is
    called by its ``name``, which is that of the function unless it is given.
    """
    if not callable(function):
        raise QueryError(f"function needs a function, not {shown(function)}")
    if not all(isinstance(text, str) and text.strip() for text in arguments):
        raise QueryError(
            "function needs what its function takes, such as function(f, 'A.x', 'UPPER(B.s)', ...)"
        )
    return UserFunction(function, arguments, column_type(type), name)


@frozen
class Vectorised(Expression):
    """A user's function of some expressions."""

    function: Callable[..., Any]
    arguments: tuple[Expression, ...]
    type: ColumnType
    name: str | None = field(default=None, eq=False)
    _name: str = field(init=False, eq=False, repr=False)

    def __attrs_post_init__(self) -> None:
        object.__setattr__(self, "_name", self.name or getattr(self.function, "__name__", "function"))
        if not self.columns:
            raise QueryError(f"{self} reads no column: name one, such as A.x")
        for argument in self.arguments:
            if argument.type.kind == "null":
                raise QueryError(f"{self}: an argument is always NULL; leave it out")

    def evaluate(self, get: Get) -> Column:
        columns = [argument.evaluate(get) for argument in self.arguments]
        n = max(len(column.values) for column in columns if not isinstance(column.values, pa.Scalar))
        given = []
        for column, argument in zip(columns, self.arguments, strict=True):
            array = to_datum(repeated(column, n), argument.type, False)
            array = array.combine_chunks() if isinstance(array, pa.ChunkedArray) else array
            given.append(
                presented(argument.type, array, arrow.valid_of(array))
                if argument.type.kind == "uuid"
                else array
            )
        found = self.function(*given)
        try:
            if not isinstance(found, (pa.Array, pa.ChunkedArray)):
                found = pa.array(found, self.type.arrow)
            found = found.cast(self.type.arrow)
        except (pa.ArrowInvalid, pa.ArrowTypeError, pa.ArrowNotImplementedError) as error:
            raise EddyError(f"{self} returned what is no {self.type}: {error}") from error
        if len(found) != n:
            raise EddyError(f"{self} returned {len(found)} values for {n} rows: return one for each row")
        return from_datum(found, self.type)

    def __str__(self) -> str:
        return f"{self._name}({', '.join(map(str, self.arguments))})"

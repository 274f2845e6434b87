"""A user's own predicate: a compiled scalar function of some columns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numba
import numpy as np
from attrs import define, field, frozen
from numba.core import ir

from eddy.errors import QueryError
from eddy.query.expressions import Expression, Get, Reference
from eddy.query.names import Scope
from eddy.values.arithmetic import both
from eddy.values.types import BOOL, Array, Column, ColumnType


@frozen(eq=False)
class UserPredicate:
    """What `predicate` returns: a function and the columns that it takes, not yet bound to a query."""

    function: Callable[..., Any]
    columns: tuple[str, ...]

    def bind(self, scope: Scope) -> Expression:
        """The expression, typed and compiled."""
        from eddy.query.parse import parse_column

        if not self.columns:
            raise QueryError(
                f"predicate({self.name}, ...) names no columns: name them, as in predicate({self.name}, 'A.x', 'B.y'); "
                "without it is for eddy.sql(..., functions=[...])"
            )
        return Call(self.function, tuple(parse_column(column, scope) for column in self.columns))

    @property
    def name(self) -> str:
        """By which SQL calls it."""
        return str(getattr(self.function, "__name__", "predicate"))

    def called(self, arguments: Sequence[Expression]) -> Expression:
        """The expression of a call in SQL."""
        columns = tuple(argument for argument in arguments if isinstance(argument, Reference))
        if len(columns) < len(arguments):
            raise QueryError(
                f"{self.name} takes columns, such as A.x: compute in the function, or give eddy.function"
            )
        return Call(self.function, columns)


def predicate(function: Callable[..., Any], *columns: str) -> UserPredicate:
    """An element of `where`: `function` of these columns, such as `predicate(close, "A.x", "B.y")`.

    The function takes one scalar per column (timestamps as int64 in their own unit), is a Numba function or
    one that Numba can compile, and is compiled when the query is made. Where a column is NULL it is not
    called, and the predicate does not hold. Without columns it is for SQL, where it is called by its name:
    `eddy.sql(..., functions=[eddy.predicate(near)])`.
    """
    if not callable(function):
        raise QueryError(f"predicate needs a function, not {function!r}")
    if not all(isinstance(column, str) for column in columns):
        raise QueryError(
            "predicate needs the columns of its function, such as predicate(close, 'A.x', 'B.y')"
        )
    return UserPredicate(function, columns)


@define(eq=False)
class _Kernel:
    """The compiled function; it is compiled again after unpickling."""

    function: Callable[..., Any]
    types: tuple[ColumnType, ...]
    run: Any = field(init=False)

    def __attrs_post_init__(self) -> None:
        self.run = _compile(self.function, self.types)

    def __reduce__(self) -> tuple[object, ...]:
        return _Kernel, (self.function, self.types)


RAISES = (ir.Raise, ir.StaticRaise, ir.DynamicRaise)
"""Lines of a function, as Numba has them, that raise an error."""


def _compile(function: Callable[..., Any], types: tuple[ColumnType, ...]) -> Any:
    name = getattr(function, "__name__", repr(function))
    plain = getattr(function, "py_func", function)
    signature = tuple(numba.from_dtype(of.dtype) for of in types)
    try:
        jitted = numba.njit(plain)
        jitted.compile(signature)
        returned = jitted.overloads[signature].signature.return_type
        typed = jitted.overloads[signature].type_annotation
        if any(isinstance(line, RAISES) for block in typed.blocks.values() for line in block.body):
            raise QueryError(
                f"the predicate {name} raises an error, which would stop a batch half-way: let it return False"
            )
        if not isinstance(returned, (numba.types.Boolean, numba.types.Integer)):
            raise QueryError(f"the predicate {name} must return True or False, but returns {returned}")
        vectorize: Any = numba.vectorize
        return vectorize([numba.types.boolean(*signature)], nopython=True)(plain)
    except (numba.core.errors.NumbaError, TypeError) as error:
        takes = ", ".join(of.name for of in types)
        reason = str(error).strip().splitlines()
        raise QueryError(
            f"cannot compile the predicate {name} for ({takes}): {' '.join(reason[:4])}"
        ) from None


@frozen
class Call(Expression):
    """A user's function of some columns."""

    function: Callable[..., Any]
    arguments: tuple[Reference, ...]
    _kernel: _Kernel = field(init=False, eq=False, repr=False)

    def __attrs_post_init__(self) -> None:
        name = getattr(self.function, "__name__", "f")
        name, texts = (name if name.isidentifier() else "f"), ", ".join(f"{str(c)!r}" for c in self.arguments)
        for column in self.arguments:
            if column.type.is_coded or column.type.kind == "decimal":
                what = "a string" if column.type.kind == "string" else column.type
                raise QueryError(
                    f"a predicate function cannot take {column}: it is {what}; compare it in SQL, or give where a "
                    f"function of Arrow arrays: eddy.function({name}, {texts}, type='bool')"
                )
        kernel = _Kernel(self.function, tuple(column.type for column in self.arguments))
        object.__setattr__(self, "_kernel", kernel)

    @property
    def type(self) -> ColumnType:
        return BOOL

    def evaluate(self, get: Get) -> Column:
        columns = [column.evaluate(get) for column in self.arguments]
        valid: Array | None = None
        for column in columns:
            valid = both(valid, column.valid)
        with np.errstate(all="ignore"):  # a division by zero is infinite or NaN, whatever numpy is told to do
            if valid is None or valid.all():
                return Column(np.asarray(self._kernel.run(*(column.values for column in columns))), valid)
            values = np.zeros(len(valid), bool)
            values[valid] = self._kernel.run(*(column.values[valid] for column in columns))
        return Column(values, valid)

    def __str__(self) -> str:
        name = getattr(self.function, "__name__", "predicate")
        return f"{name}({', '.join(map(str, self.arguments))})"

"""An aggregate of the user's own: a class with fields, whose functions Numba compiles."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Hashable, Sequence
from typing import Any
from weakref import WeakKeyDictionary

import numba
import numpy as np
from attrs import frozen
from numba.core import ir

from eddy.errors import QueryError
from eddy.query.own_kernels import OPTIONS, make_step
from eddy.values.types import BOOL, FLOAT64, INT64, UINT64, ColumnType, DType

FUNCTIONS = ("start", "add", "remove", "result")
_FIELDS: dict[Any, type[np.generic]] = {
    **dict.fromkeys((int, "int", np.int64, "np.int64"), np.int64),
    **dict.fromkeys((float, "float", np.float64, "np.float64"), np.float64),
}
"""What a field may be declared as. Annotations are texts where annotations are not evaluated."""


class Aggregate:
    """The base of aggregates of one's own. An instance is one of them, of columns: `Variance("B.v")`.

    A subclass declares its fields, each `int` (int64) or `float` (float64), and writes `add`, `remove` and `result`.
    Every group has fields of its own, which are `self` in these functions; there is nothing else in it. Numba compiles
    them, once for each class and types of columns, when a query is made: they may use numbers, `math` and what else
    Numba knows, and must not raise. A division by 0 gives infinity, NaN, or 0 of whole numbers.
    """

    def __init__(self, *columns: str) -> None:
        if not columns or not all(isinstance(column, str) for column in columns):
            name = type(self).__name__
            raise QueryError(f"the aggregate {name} needs the columns that it is of, such as {name}('B.v')")
        self._columns = columns

    def start(self) -> None:
        """A group gets its first value. All fields are 0: set those that begin with something else."""

    def add(self, *values: object, **named: object) -> None:
        """A row comes, with one value of each column: int64 for integers, bool and timestamps (in their own unit),
        float64 for floats, uint64 for uint64. Rows in which one of them is NULL are left out."""
        raise NotImplementedError

    def remove(self, *values: object, **named: object) -> None:
        """A row goes that was added before: undo that. When the last one goes the group begins anew."""
        raise NotImplementedError

    def result(self) -> Any:
        """What is shown of the group, which has a value: a number or a bool, or None for NULL. (Without a value NULL
        is shown, and this is not called.)"""
        raise NotImplementedError


def columns_of(own: Aggregate) -> tuple[str, ...]:
    """The columns that an aggregate was made with."""
    found: tuple[str, ...] | None = getattr(own, "_columns", None)
    if found is None:
        name = type(own).__name__
        raise QueryError(
            f"the aggregate {name} has lost its columns: its __init__ must call super().__init__(*columns)"
        )
    return found


@frozen(eq=False)
class Compiled:
    """An aggregate of the user's own for arguments of certain types, ready to run."""

    fields: DType
    type: ColumnType
    """The type of its values."""
    value: DType
    """The dtype of 64 bits that they are kept in."""
    arguments: tuple[DType, ...]
    """What `add` and `remove` take."""
    step: Callable[..., None]
    """The loop of `own_kernels.make_step`."""


_MADE: WeakKeyDictionary[type[Aggregate], dict[tuple[Any, ...], Compiled]] = WeakKeyDictionary()
"""What was compiled for a class, by its functions and the types of its arguments: never twice."""


def compiled(kind: type[Aggregate], arguments: Sequence[ColumnType]) -> Compiled:
    """The class compiled for these arguments; a QueryError says what to do where that cannot be."""
    functions = {name: _function(kind, name) for name in FUNCTIONS}
    known = _MADE.setdefault(kind, {})
    key = (*functions.values(), *(of.name for of in arguments))
    if key not in known:
        known[key] = _Compiler(kind, functions, tuple(arguments)).compiled()
    return known[key]


def _function(kind: type[Aggregate], name: str) -> Callable[..., Any]:
    """A function of the class as it was written; one that Numba has compiled already is compiled again."""
    found = inspect.getattr_static(kind, name)
    plain = getattr(found, "py_func", found)
    if not inspect.isfunction(plain):
        raise QueryError(
            f"{name} of the aggregate {kind.__name__} is no function of its fields: write def {name}(self, ...)"
        )
    if name != "start" and plain is vars(Aggregate)[name]:
        raise QueryError(f"the aggregate {kind.__name__} has no {name}: write def {name}(self, ...)")
    return plain


def _fields(kind: type[Aggregate]) -> DType:
    """The fields that the class and its bases declare, in that order."""
    found: dict[str, type[np.generic]] = {}
    for base in reversed(kind.__mro__):
        if not issubclass(base, Aggregate) or base is Aggregate:
            continue
        for name, of in inspect.get_annotations(base).items():
            if not isinstance(of, Hashable) or of not in _FIELDS:
                raise QueryError(
                    f"field {name} of the aggregate {kind.__name__} is {of!r}: declare it as int or as float"
                )
            if name in vars(base):
                raise QueryError(
                    f"field {name} of the aggregate {kind.__name__} has a value in the class: write {name}: "
                    f"{np.dtype(_FIELDS[of]).name[:-2]}, and set it in start"
                )
            found[name] = _FIELDS[of]
    if not found:
        raise QueryError(
            f"the aggregate {kind.__name__} has no fields: declare what it keeps for a group, such as n: int"
        )
    return np.dtype(list(found.items()), align=True)


@frozen
class _Compiler:
    """Compiles a class for arguments of some types."""

    kind: type[Aggregate]
    functions: dict[str, Callable[..., Any]]
    arguments: tuple[ColumnType, ...]

    def compiled(self) -> Compiled:
        fields = _fields(self.kind)
        dtypes = tuple(_passed(of) for of in self.arguments)
        record, values = numba.from_dtype(fields), [numba.from_dtype(of) for of in dtypes]
        made: dict[str, Any] = {}
        for name, function in self.functions.items():
            takes = values if name in ("add", "remove") else []
            self._check_arity(name, function, len(takes))
            made[name] = self._compiled(name, function, (record, *takes))
        shown = self._shown(made["result"].overloads[(record,)].signature.return_type)
        word = np.dtype(np.int64) if shown.kind == "bool" else shown.dtype
        step = make_step(**made, record=record, shown=numba.from_dtype(word), arguments=values)
        return Compiled(fields, shown, word, dtypes, step)

    def _check_arity(self, name: str, function: Callable[..., Any], count: int) -> None:
        takes = list(inspect.signature(function).parameters.values())
        if len(takes) == count + 1 and all(one.kind is one.POSITIONAL_OR_KEYWORD for one in takes):
            return
        own = self.kind.__name__
        if name in ("add", "remove"):
            columns = f"{count} column{'s' * (count > 1)}"
            wants = f"self and {count} value{'s' * (count > 1)}, since it is of {columns}"
        else:
            wants = "self alone"
        raise QueryError(
            f"{name} of the aggregate {own} must take {wants}, not ({', '.join(map(str, takes))})"
        )

    def _compiled(self, name: str, function: Callable[..., Any], signature: tuple[object, ...]) -> Any:
        try:
            jitted = numba.njit(**OPTIONS)(function)
            jitted.compile(signature)
        except Exception as error:  # whatever stops the compiler, the function is what can be mended
            takes = ", ".join(map(str, signature[1:]))
            raise QueryError(
                f"cannot compile {name} of the aggregate {self.kind.__name__} for ({takes}): {_reason(error)}. "
                "It may use its fields, its values, math, and what else Numba can compile"
            ) from None
        self._check(name, jitted.overloads[signature].type_annotation)
        return jitted

    def _check(self, name: str, typed: Any) -> None:
        """Refuse what would compile and go wrong: an error within a batch, a `result` that changes the group, and a
        field that cuts off what it is given."""
        own = f"{name} of the aggregate {self.kind.__name__}"
        for line in (line for block in typed.blocks.values() for line in block.body):
            if isinstance(line, (ir.Raise, ir.StaticRaise, ir.DynamicRaise)):
                raise QueryError(
                    f"{own} raises an error, which would stop a batch half-way: let result return None instead"
                )
            if not isinstance(line, ir.SetAttr):
                continue
            if name == "result":
                raise QueryError(
                    f"{own} sets the field {line.attr}: it may only read, let add and remove set it"
                )
            field = dict(typed.typemap[line.target.name].members)[line.attr]
            given = typed.typemap[line.value.name]
            whole = isinstance(given, (numba.types.Integer, numba.types.Boolean))
            if isinstance(field, numba.types.Integer) and not whole:
                raise QueryError(
                    f"{own} puts {given} into the field {line.attr}, which is int: declare {line.attr}: float, or "
                    "round it, int(...)"
                )

    def _shown(self, returned: object) -> ColumnType:
        """The type of the values, by what `result` returns."""
        of = returned.type if isinstance(returned, numba.types.Optional) else returned
        if isinstance(of, numba.types.Integer):
            return INT64 if of.signed else UINT64
        if isinstance(of, numba.types.Boolean):
            return BOOL
        if isinstance(of, numba.types.Float):
            return FLOAT64
        raise QueryError(
            f"result of the aggregate {self.kind.__name__} must return a number, a bool or None, but returns {of}"
        )


def _passed(of: ColumnType) -> DType:
    """What values of a column are to the user's functions."""
    if of.kind == "float":
        return np.dtype(np.float64)
    return np.dtype(np.uint64 if of.name == "uint64" else np.int64)


def _reason(error: Exception) -> str:
    """What a compiler complains of, in a line."""
    if isinstance(error, KeyError):  # an attribute that a record has not
        return f"there is no field {error.args[0]}, declare it in the class"
    text = " ".join(str(error).split("\n\n")[0].split())
    text = re.sub(r"^Failed in \w+ mode pipeline \(step: [^)]*\) ", "", text)
    return re.split(r" (?:During|Raised from|File|There are \d+ candidate)\b", text)[0].rstrip(". ")[:300]

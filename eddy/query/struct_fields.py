"""Fields of structs: `A.place.city`, of a column that is carried otherwise."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc
from attrs import field, frozen
from sqlglot import exp

from eddy.errors import QueryError
from eddy.query.expressions import Expression, Get, quoted
from eddy.query.names import Scope, nearest
from eddy.values.compute import from_datum, to_datum
from eddy.values.types import Column, ColumnType, column_type


@frozen
class StructField(Expression):
    """`operand.name`: NULL where the struct is."""

    operand: Expression
    name: str
    type: ColumnType = field(init=False)

    def __attrs_post_init__(self) -> None:
        of = self.operand.type
        if of.kind != "opaque" or not pa.types.is_struct(of.arrow):
            raise QueryError(
                f"{self.operand} is {of}, which has no field {self.name}: only structs have fields"
            )
        names = [part.name for part in of.arrow]
        if names.count(self.name) != 1:
            raise QueryError(f"{self.operand} has no field {self.name}: {nearest(self.name, names)}")
        object.__setattr__(self, "type", column_type(of.arrow.field(self.name).type))

    def evaluate(self, get: Get) -> Column:
        given = to_datum(self.operand.evaluate(get), self.operand.type, constant=False)
        return from_datum(pc.struct_field(given, [self.name]), self.type)

    def __str__(self) -> str:
        return f"{self.operand}.{quoted(self.name)}"


def field_of(node: exp.Column, scope: Scope) -> Expression | None:
    """The field that a name of several parts stands for; None if it is the name of a column."""
    names = [part.name for part in node.parts]
    streams = {*scope.streams, *scope.subtracted}
    columns = {column for _, column in scope.shown}
    if len(names) > 2 and names[0] in streams:
        return _fields(scope.column(names[0], names[1]), names[2:])
    if len(names) > 1 and names[0] not in streams and names[0] in columns:
        return _fields(scope.column(None, names[0]), names[1:])
    return None


def _fields(of: Expression, names: Sequence[str]) -> Expression:
    for name in names:
        of = StructField(of, name)
    return of

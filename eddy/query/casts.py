"""CAST in expressions: the types that it names, and its node."""

from __future__ import annotations

from attrs import frozen
from sqlglot import exp

from eddy.errors import QueryError
from eddy.query.expressions import Expression, Get
from eddy.values.casting import cast, castable
from eddy.values.types import DIGITS, Column, ColumnType, column_type, decimal_type

_NAMES = {
    "TINYINT": "int8",
    "SMALLINT": "int16",
    "INT": "int32",
    "BIGINT": "int64",
    "UTINYINT": "uint8",
    "USMALLINT": "uint16",
    "UINT": "uint32",
    "UBIGINT": "uint64",
    "FLOAT": "float64",
    "DOUBLE": "float64",
    "BOOLEAN": "bool",
    "VARCHAR": "string",
    "TEXT": "string",
    "CHAR": "string",
    "TIMESTAMP": "timestamp[us]",
    "TIMESTAMPNTZ": "timestamp[us]",
    "TIMESTAMP_S": "timestamp[s]",
    "TIMESTAMP_MS": "timestamp[ms]",
    "TIMESTAMP_NS": "timestamp[ns]",
    "DATE": "date",
    "TIME": "time[us]",
    "UUID": "uuid",
}
_WRITTEN = {kind: name for name, kind in reversed(_NAMES.items())} | {"float64": "DOUBLE"}


def named(to: exp.DataType) -> ColumnType:
    """The type that SQL calls so."""
    name = str(to.args.get("kind") or "").upper() if to.this.name == "USERDEFINED" else to.this.name
    if name == "DECIMAL":
        return _decimal(to)
    sized = bool(to.expressions) and name in ("VARCHAR", "CHAR")
    if name not in _NAMES or to.args.get("nested") or (to.expressions and not sized):
        raise QueryError(
            f"CAST knows no type {to.sql()}: it makes BOOLEAN, TINYINT, SMALLINT, INT, BIGINT, DOUBLE, DECIMAL, "
            "VARCHAR, DATE, TIME, TIMESTAMP and UUID of other values"
        )
    if sized:
        raise QueryError(f"CAST does not cut texts: write LEFT(..., n) in the place of {to.sql()}")
    return column_type(_NAMES[name])


def _decimal(to: exp.DataType) -> ColumnType:
    """DECIMAL(p, s); without a size it is (18, 3), as elsewhere."""
    size = [int(part.name) for part in to.expressions if part.name.isdigit()]
    digits, scale = (*size, 0)[:2] if size else (DIGITS, 3)
    if not (1 <= digits <= DIGITS and 0 <= scale <= digits):
        raise QueryError(
            f"{to.sql()} is no type of CAST: a decimal has 1 to {DIGITS} digits, such as DECIMAL(18, 2)"
        )
    return decimal_type(digits, scale)


def sql_name(kind: ColumnType) -> str | None:
    """What SQL calls a type; None for one that it has no name for."""
    return f"DECIMAL({kind.digits}, {kind.scale})" if kind.kind == "decimal" else _WRITTEN.get(kind.name)


@frozen
class Cast(Expression):
    """`CAST(operand AS type)`: NULL where the type has no such value, as TRY_CAST has it elsewhere."""

    operand: Expression
    type: ColumnType

    def __attrs_post_init__(self) -> None:
        if not castable(self.operand.type, self.type):
            raise QueryError(
                f"there is no CAST of {self.operand}, which is {self.operand.type}, to {self.type}"
            )

    def evaluate(self, get: Get) -> Column:
        constant = not self.operand.columns
        return cast(self.operand.evaluate(get), self.operand.type, self.type, constant)

    def __str__(self) -> str:
        return f"CAST({self.operand} AS {sql_name(self.type)})"

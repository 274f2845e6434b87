"""Types of results as a lake has them: what it lacks is widened, so that no value changes, or refused."""

from __future__ import annotations

import pyarrow as pa
from attrs import evolve, frozen

from eddy.connect.address import Address
from eddy.errors import EddyError

_SIGNED = {
    pa.uint8(): pa.int16(),
    pa.uint16(): pa.int32(),
    pa.uint32(): pa.int64(),
    pa.uint64(): pa.decimal128(20, 0),
}
_PLAIN = (
    pa.int32(),
    pa.int64(),
    pa.float32(),
    pa.float64(),
    pa.bool_(),
    pa.date32(),
    pa.string(),
    pa.binary(),
)
_DIGITS = 38
CUT = "?nanoseconds=cut"
"""The option of an address that has nanoseconds cut off."""


@frozen
class LakeTypes:
    """What a lake has beyond the types that all of them have."""

    lake: str
    small: bool
    """Integers of 8 and 16 bits."""
    times: bool
    """Times of day."""
    fixed: bool
    """Bytes of a fixed length."""
    cut: bool = False
    """Whether nanoseconds are cut to microseconds; else times that have them are refused."""

    def asked(self, address: Address) -> tuple[LakeTypes, Address]:
        """The types that the options of an address ask for, and the address without these."""
        options = dict(address.options)
        if options.pop("nanoseconds", "cut") != "cut":
            raise EddyError(
                f"nanoseconds={address.options['nanoseconds']} of {address}: it can be cut, or left out"
            )
        cut = "nanoseconds" in address.options
        return evolve(self, cut=cut), evolve(address, options=options)

    def stored(self, schema: pa.Schema) -> pa.Schema:
        """The columns of results as a table of the lake has them; EddyError, with all that it cannot have."""
        kinds = [self._stored(one.type) for one in schema]
        wrong = [
            f"column {one.name} is {one.type} ({kind})"
            for one, kind in zip(schema, kinds, strict=True)
            if isinstance(kind, str)
        ]
        if wrong:
            raise EddyError(f"{self.lake} cannot have these results: {'; '.join(wrong)}")
        return pa.schema([pa.field(one.name, kind) for one, kind in zip(schema, kinds, strict=True)])

    def _stored(self, kind: pa.DataType) -> pa.DataType | str:
        """The type in the place of another; a text says what to do where there is none."""
        if pa.types.is_dictionary(kind):
            return self._stored(kind.value_type)
        if pa.types.is_list(kind) or pa.types.is_large_list(kind):
            item = self._stored(kind.value_type)
            return item if isinstance(item, str) else pa.list_(item)
        if pa.types.is_struct(kind):
            return self._struct(kind)
        if kind in _SIGNED:
            kind = _SIGNED[kind]
        if kind in (pa.int8(), pa.int16()):
            return kind if self.small else pa.int32()
        if kind in _PLAIN or (pa.types.is_decimal(kind) and kind.precision <= _DIGITS):
            return pa.decimal128(kind.precision, kind.scale) if pa.types.is_decimal(kind) else kind
        if pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
            return pa.string()
        if pa.types.is_fixed_size_binary(kind):
            return kind if self.fixed else pa.binary()
        if pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_binary_view(kind):
            return pa.binary()
        if pa.types.is_date(kind):
            return pa.date32()
        return self._temporal(kind)

    def _temporal(self, kind: pa.DataType) -> pa.DataType | str:
        if pa.types.is_timestamp(kind):
            if kind.unit == "ns" and not self.cut:
                return f"its times have microseconds: add {CUT} to the address to have the rest cut off"
            return pa.timestamp("us", "UTC" if kind.tz else None)
        if pa.types.is_time(kind):
            fits = self.times and (kind.unit != "ns" or self.cut)
            return pa.time64("us") if fits else "select CAST(... AS VARCHAR)"
        if pa.types.is_duration(kind):
            return "select the times that it lies between"
        if kind == pa.uuid():
            return "select CAST(... AS VARCHAR)"
        return "leave it out"

    def _struct(self, kind: pa.DataType) -> pa.DataType | str:
        fields = []
        for place in range(kind.num_fields):
            one = kind.field(place)
            inner = self._stored(one.type)
            if isinstance(inner, str):
                return inner
            fields.append(pa.field(one.name, inner))
        return pa.struct(fields)


def check_same(what: object, have: pa.Schema, want: pa.Schema) -> None:
    """EddyError unless an existing table has the columns that results have; their order does not matter."""
    for name, kind in zip(want.names, want.types, strict=True):
        if name not in have.names:
            raise EddyError(
                f"the table {what} has no column {name}, which the results have, but {', '.join(have.names)}: select "
                "these, or give another table"
            )
        there = have.field(name)
        if not _alike(there.type, kind):
            raise EddyError(
                f"column {name} of the table {what} is {_short(there.type)}, but {kind} in the results: CAST it "
                "in the SELECT, or give another table"
            )
        if not there.nullable:
            raise EddyError(
                f"column {name} of the table {what} must not be NULL, which results may be: drop that, or give another "
                "table"
            )
    for name in have.names:
        if name not in want.names:
            raise EddyError(
                f"the table {what} has a column {name}, which the results lack: select it, or give another table"
            )


def _alike(one: pa.DataType, other: pa.DataType) -> bool:
    """Whether two types are the same but for the lengths that their texts and lists may have."""
    found = _short(one)
    return bool(found == _short(other))


def _short(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return pa.list_(_short(kind.value_type))
    if pa.types.is_struct(kind):
        return pa.struct([(kind.field(i).name, _short(kind.field(i).type)) for i in range(kind.num_fields)])
    return {pa.large_string(): pa.string(), pa.large_binary(): pa.binary()}.get(kind, kind)

"""Nested types of Arrow without views: Arrow's functions take no values out of arrays of string views, as of polars."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.types as pat


def without_views(of: pa.DataType) -> pa.DataType:
    """The same type with plain strings and bytes, and plain lists, in the place of views."""
    if pat.is_string_view(of):
        return pa.string()
    if pat.is_binary_view(of):
        return pa.binary()
    if pat.is_struct(of):
        return pa.struct([_plain(of.field(i)) for i in range(of.num_fields)])
    if pat.is_map(of):
        return pa.map_(_plain(of.key_field), _plain(of.item_field), of.keys_sorted)
    if pat.is_fixed_size_list(of):
        return pa.list_(_plain(of.value_field), of.list_size)
    if pat.is_list(of) or pat.is_list_view(of):
        return pa.list_(_plain(of.value_field))
    if pat.is_large_list(of) or pat.is_large_list_view(of):
        return pa.large_list(_plain(of.value_field))
    return of


def _plain(field: Any) -> Any:
    return field.with_type(without_views(field.type))

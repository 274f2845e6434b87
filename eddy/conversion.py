"""One column of a batch, whatever it came as, in its declared type.

The rule is the same for every source: a value is taken if the column can hold exactly that value, else the batch is
refused. So 2.0 may enter an integer column and 2.5 may not; 1 and 0 may enter a bool column. Three things are looser:
a float32 column rounds, a timestamp column takes plain integers as counts of its unit since 1970 (UTC), and numpy's
datetime64, which knows no zones, may enter a column with a zone as UTC.
NULL is None, an Arrow null, a masked value, NaT, or what pandas calls missing. NaN in a float column stays NaN.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as pat

from eddy.errors import BatchError
from eddy.types import Column, ColumnType

Arrow = pa.Array | pa.ChunkedArray
FAILURES = (pa.ArrowException, ValueError, TypeError, OverflowError)
ARROW_UNITS = ("s", "ms", "us", "ns")


def convert(where: str, kind: ColumnType, values: Any) -> Column:
    """The values as a column of this kind; `where` names the column in messages."""
    try:
        if isinstance(values, np.ndarray) and values.dtype != object:
            return _from_numpy(kind, values)
        return _from_arrow(kind, _to_arrow(kind, values))
    except BatchError as error:
        raise BatchError(f"{where}: {error}") from None
    except FAILURES as error:
        reason = str(error).splitlines()[0]
        raise BatchError(f"{where}: these values do not fit {kind.name} ({reason}); {_hint(kind)}") from error


def _hint(kind: ColumnType) -> str:
    if kind.kind == "timestamp":
        return "give timestamps, datetime64, datetimes or integers in its unit, or declare another type"
    return "convert them first, or declare the column with a type that holds them"


def _from_numpy(kind: ColumnType, values: np.ndarray) -> Column:
    """Direct where numpy can widen exactly; by Arrow's checked casts elsewhere."""
    if values.ndim != 1:
        raise BatchError(f"a column has one dimension, this one has {values.ndim}; give a 1-d array")
    if isinstance(values, np.ma.MaskedArray):
        valid = ~np.ma.getmaskarray(values)
        plain = values.filled(values.dtype.type()) if values.dtype.kind in "iufb" else values.filled()
        column = _from_numpy(kind, np.where(valid, plain, np.zeros((), plain.dtype)))
        return Column(column.values, _both(column.valid, valid))
    if not values.dtype.isnative:
        values = values.astype(values.dtype.newbyteorder("="))
    source, target = values.dtype, kind.dtype
    if kind.kind in ("int", "uint", "float", "bool") and _widens(source, target):
        return Column(np.require(values, target, ["C", "A", "W"]), None)
    if kind.kind == "timestamp":
        if source == np.int64:
            return Column(np.require(values, requirements=["C", "A", "W"]), None)
        if source.kind == "M":
            unit = np.datetime_data(source)[0]
            if unit == "generic" or unit in ("W", "M", "Y", "D", "h", "m"):
                values = values.astype("M8[s]")
            elif np.datetime_data(source) != (unit, 1) or unit not in ARROW_UNITS:
                raise BatchError(f"numpy's {source} is not understood; give datetime64 in {', '.join(ARROW_UNITS)}")
            return _from_arrow(kind, pa.array(values).cast(pa.timestamp(kind.unit)), naive=True)
    return _from_arrow(kind, pa.array(values))


def _widens(source: np.dtype, target: np.dtype) -> bool:
    """Numpy calls int64 -> float64 safe, but it rounds; only steps that keep every value count here."""
    if source == target:
        return True
    return np.can_cast(source, target, "safe") and (target.kind != "f" or source.itemsize < target.itemsize)


def _to_arrow(kind: ColumnType, values: Any) -> Arrow:
    """Arrow's own reading of the values, before the declared type is looked at."""
    if isinstance(values, (pa.Array, pa.ChunkedArray)):
        return values
    pandas = sys.modules.get("pandas")
    if pandas is not None and isinstance(values, (pandas.Series, pandas.Index, pandas.api.extensions.ExtensionArray)):
        return _from_pandas(pandas, kind, values)
    if hasattr(values, "__arrow_c_stream__"):
        return pa.chunked_array(values)
    if hasattr(values, "__arrow_c_array__"):
        return pa.array(values)
    if isinstance(values, np.ndarray):
        if values.ndim != 1:
            raise BatchError(f"a column has one dimension, this one has {values.ndim}; give a 1-d array")
        if isinstance(values, np.ma.MaskedArray):
            values = values.filled(None)
        return _from_objects(kind, list(values), nan_is_null=kind.kind != "float")
    if isinstance(values, Sequence) and not isinstance(values, (str, bytes)):
        return _from_objects(kind, list(values), nan_is_null=False)
    if hasattr(values, "__array__") and np.ndim(values) == 1:
        return pa.array(np.asarray(values))
    raise BatchError(f"a {type(values).__name__} is not a column; give a list or an array with a value for each row")


def _from_objects(kind: ColumnType, values: list[Any], nan_is_null: bool) -> Arrow:
    """The type is inferred, not imposed: imposing int64 on 1.5 would cut it to 1 without a word."""
    pandas = sys.modules.get("pandas")
    if pandas is not None:
        missing = (pandas.NA, pandas.NaT)
        values = [None if any(value is m for m in missing) else value for value in values]
    try:
        return pa.array(values, from_pandas=nan_is_null)
    except OverflowError:
        if kind.kind != "uint" or any(isinstance(value, float) for value in values):
            raise
        return pa.array(values, pa.uint64())


def _from_pandas(pandas: Any, kind: ColumnType, values: Any) -> Arrow:
    """NaN in a float64 series is a value for a float column, and pandas' way to say NULL for any other."""
    if isinstance(values.dtype, np.dtype):
        plain = values.to_numpy()
        if plain.dtype == object:
            return _from_objects(kind, list(plain), nan_is_null=kind.kind != "float")
        return pa.array(plain, from_pandas=kind.kind != "float")
    array = pa.array(values, from_pandas=True)
    return array


def _from_arrow(kind: ColumnType, array: Arrow, naive: bool = False) -> Column:
    """A checked cast to the declared type, then storage values and a mask. `naive`: zones were not known."""
    if isinstance(array, pa.ChunkedArray):
        array = array.combine_chunks()
        if isinstance(array, pa.ChunkedArray):
            array = pa.concat_arrays(array.chunks)
    if pat.is_dictionary(array.type):
        array = array.dictionary_decode()
    if not (pat.is_null(array.type) or _fits(kind, array.type, naive)):
        raise BatchError(f"this column is {kind.name}, the values are {array.type}; {_hint(kind)}")
    valid = None
    if array.null_count:
        valid = array.is_valid().to_numpy(zero_copy_only=False)
    if kind.kind == "string":
        text = array if pat.is_string(array.type) else array.cast(pa.string())
        return Column(text if valid is None else pc.fill_null(text, ""), valid)
    if kind.kind == "timestamp":
        stored = _timestamps(kind, array)
    elif kind.kind == "bool" and not pat.is_null(array.type) and not pat.is_boolean(array.type):
        if pc.any(pc.not_equal(array, array.cast(pa.bool_()).cast(array.type))).as_py():
            raise BatchError("a bool column takes true and false, or 1 and 0, and nothing else; compare first")
        stored = array.cast(pa.bool_())
    else:
        stored = array.cast(kind.arrow)
    if valid is not None:
        stored = pc.fill_null(stored, False if kind.kind == "bool" else 0)
    values = stored.to_numpy(zero_copy_only=False)
    if kind.dtype == np.float32 and np.isinf(values).any():
        _refuse_new_infinities(array)
    return Column(np.require(values, kind.dtype, ["C", "A", "W"]), valid)


def _fits(kind: ColumnType, source: pa.DataType, naive: bool) -> bool:
    """Whether values of this Arrow type may be tried at all."""
    if kind.kind == "string":
        return any(
            test(source)
            for test in (pat.is_string, pat.is_large_string, pat.is_string_view, pat.is_binary, pat.is_large_binary)
        )
    if kind.kind == "timestamp":
        if pat.is_timestamp(source):
            if not naive and (source.tz is None) != (kind.zone is None):
                raise BatchError(
                    f"this column is {kind.name}, the values are {source}: one has a zone, the other has none; "
                    "localise or convert the values, or declare the column as they are"
                )
            return True
        return pat.is_int64(source) or (pat.is_date(source) and kind.zone is None)
    if kind.kind == "bool":
        return pat.is_boolean(source) or pat.is_integer(source)
    return pat.is_boolean(source) or pat.is_integer(source) or pat.is_floating(source) or pat.is_decimal(source)


def _timestamps(kind: ColumnType, array: pa.Array) -> pa.Array:
    """Counts of the column's unit, as int64. Zones change how an instant is shown, not its count."""
    if not pat.is_int64(array.type):
        zone = array.type.tz if pat.is_timestamp(array.type) else None
        array = array.cast(pa.timestamp(kind.unit, zone))
    return array.cast(pa.int64())


def _refuse_new_infinities(array: pa.Array) -> None:
    """Rounding to float32 is what the column asks for; becoming infinite is not."""
    if pat.is_floating(array.type) and pc.any(pc.is_inf(array)).as_py() is not True:
        raise BatchError("a value is too large for float32; declare the column as float64")
    wide = array.cast(pa.float64()).to_numpy(zero_copy_only=False)
    with np.errstate(over="ignore"):
        if (np.isinf(wide.astype(np.float32)) & ~np.isinf(wide)).any():
            raise BatchError("a value is too large for float32; declare the column as float64")


def _both(first: np.ndarray | None, second: np.ndarray) -> np.ndarray | None:
    valid = second if first is None else first & second
    return None if valid.all() else valid

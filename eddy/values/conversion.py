"""One column of a batch, whatever it came as, in its declared type.

The rule is the same for every source: a value is taken if the column can hold exactly that value, else the
batch is refused. So 2.0 may enter an integer column and 2.5 may not; 1 and 0 may enter a bool column. Texts are
read as values of other types only where the stream says so (`parse`). Three things are looser: a float or a decimal
number becomes the nearest value of a float column, unless it is beyond its range; a timestamp column takes plain
integers as counts of its unit since 1970 (UTC); and numpy's datetime64, which knows no zones, may enter a column with
a zone as UTC.
NULL is None, an Arrow null, a masked value, NaT, or what pandas calls missing. NaN in a float column stays.
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
from eddy.values import arrow
from eddy.values.fitting import FITTED, HINTS, fit
from eddy.values.objects import floats, inferred, too_large
from eddy.values.parsing import HINT, PARSED, is_text, read_texts
from eddy.values.types import UNITS, Array, Column, ColumnType, DType

FAILURES = (pa.ArrowException, ValueError, TypeError, OverflowError)


def convert(where: str, kind: ColumnType, values: object, parse: bool = False) -> Column:
    """The values as a column of this kind; `where` names the column in messages. ``parse``: texts are read as such."""
    try:
        source = _read(kind, values)
        if kind.kind in PARSED:
            source = _parsed(kind, source, parse)
        return _from_numpy(kind, source) if isinstance(source, np.ndarray) else _from_arrow(kind, source)
    except BatchError as error:
        raise BatchError(f"{where}: {error}") from None
    except FAILURES as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise BatchError(f"{where}: these values do not fit {kind} ({reason}); {_hint(kind)}") from error


def _parsed(kind: ColumnType, source: Any, parse: bool) -> Any:
    """Texts as what they say; everything else as it is."""
    if isinstance(source, np.ndarray):
        if source.dtype.kind not in "UT":
            return source
        _refuse_dimensions(source)
        source = pa.array(source)
    array = _single(source)
    if not is_text(array.type) or array.null_count == len(array):
        return source
    if parse:
        return read_texts(kind, array)
    raise BatchError(f"this column is {kind}, the values are texts; {HINT}; else {_hint(kind)}")


def _hint(kind: ColumnType) -> str:
    if kind.kind == "timestamp":
        return "give timestamps, datetime64, datetimes or integers in its unit, or declare another type"
    if kind.kind in HINTS:
        return f"{HINTS[kind.kind]}, or declare another type"
    return "convert them first, or declare the column with a type that holds them"


def _read(kind: ColumnType, values: object) -> Any:
    """The values as a numpy array, but not one of objects, or as Arrow, in whatever type they are."""
    if isinstance(values, (pa.Array, pa.ChunkedArray)):
        return values
    if isinstance(values, np.ndarray):
        return values if values.dtype != object else _from_objects(kind, values)
    if type(values) is list or type(values) is tuple:
        return inferred(kind, list(values), nan_is_null=False)
    pandas = sys.modules.get("pandas")
    if pandas is not None:
        if isinstance(values, (pandas.Series, pandas.Index, pandas.api.extensions.ExtensionArray)):
            return _from_pandas(kind, values)
    if hasattr(values, "__arrow_c_stream__"):
        return pa.chunked_array(values)
    if hasattr(values, "__arrow_c_array__"):
        return pa.array(values)
    if isinstance(values, Sequence) and not isinstance(values, (str, bytes)):
        return inferred(kind, list(values), nan_is_null=False)
    if hasattr(values, "__array__"):
        return np.asarray(values)
    raise BatchError(f"a {type(values).__name__} is not a column; give a list or an array of one value a row")


def _from_pandas(kind: ColumnType, values: Any) -> Any:
    """NaN in a float64 series is a value for a float column, and pandas' way to say NULL for any other."""
    if not isinstance(values.dtype, np.dtype):
        if kind.kind == "timestamp" and getattr(values.dtype, "categories", None) is not None:
            return _from_pandas(kind, values.astype(values.dtype.categories.dtype))
        return pa.array(values, from_pandas=True)
    plain = values.to_numpy()
    if plain.dtype == object:
        return _from_objects(kind, plain)
    if plain.dtype == np.longdouble and kind.kind != "float":
        return np.ma.array(plain, mask=np.isnan(plain))
    if plain.dtype.kind == "M" or (plain.dtype.kind == "f" and kind.kind != "float"):
        return pa.array(plain, from_pandas=True)
    return plain


def _from_objects(kind: ColumnType, values: Array) -> pa.Array:
    _refuse_dimensions(values)
    if isinstance(values, np.ma.MaskedArray):
        masked = np.ma.getmaskarray(values)
        values = values.data.copy()
        values[masked] = None
    return inferred(kind, values.tolist(), nan_is_null=kind.kind != "float")


def _from_numpy(kind: ColumnType, values: Array) -> Column:
    """Direct where numpy can widen exactly; by Arrow's checked casts elsewhere."""
    _refuse_dimensions(values)
    if isinstance(values, np.ma.MaskedArray):
        valid = ~np.ma.getmaskarray(values)
        column = _from_numpy(kind, np.where(valid, values.data, np.zeros((), values.dtype)))
        valid = valid if column.valid is None else valid & column.valid
        return Column(column.values, None if valid.all() else valid)
    if not values.dtype.isnative:
        values = values.astype(values.dtype.newbyteorder("="))
    source = values.dtype
    if kind.kind == "timestamp":
        if source == np.int64:
            return Column(_ready(values, values.dtype))
        if source.kind == "M":
            unit = np.datetime_data(source)[0]
            if unit in ("ps", "fs", "as"):
                raise BatchError(
                    f"{source} is finer than any timestamp; give datetime64 in {', '.join(UNITS)}"
                )
            unit = unit if unit in UNITS else "s"
            counts = values.astype(f"M8[{unit}]").view(np.int64)
            array = arrow.from_numpy(counts, ~np.isnat(values), pa.timestamp(unit))
            return _from_arrow(kind, array, zones_known=False)
    elif kind.kind in FITTED:
        return _fitted(kind, values)
    elif kind.kind != "string" and _widens(source, kind.dtype):
        return Column(_ready(values, kind.dtype))
    elif source == np.longdouble and kind.is_number:
        return _from_long_doubles(kind, values)
    if source.kind in "iufbmM":
        return _from_arrow(kind, arrow.from_numpy(values, None, pa.from_numpy_dtype(source)))
    return _from_arrow(kind, pa.array(values))


def _fitted(kind: ColumnType, values: Array) -> Column:
    """Arrays of numpy for the types that `fit` knows."""
    source = values.dtype
    if source == kind.direct:
        return Column(_ready(values, source))
    if source.kind in "mM":
        unit = np.datetime_data(source)[0]
        if source.kind == "M" and unit in ("Y", "M", "W", "D"):
            return fit(kind, arrow.from_numpy(_days(values), ~np.isnat(values), pa.date32()))
        if unit not in UNITS:
            if unit not in ("W", "D", "h", "m"):
                raise BatchError(f"{source} counts no unit of {', '.join(UNITS)}; convert it first")
            unit = "s"
        counts = values.astype(f"{source.kind}8[{unit}]").view(np.int64)
        of = pa.timestamp(unit) if source.kind == "M" else pa.duration(unit)
        return fit(kind, arrow.from_numpy(counts, ~np.isnat(values), of))
    if source.kind in "iuf" and source != np.longdouble:
        return fit(kind, arrow.from_numpy(values, None, pa.from_numpy_dtype(source)))
    return _from_arrow(kind, pa.array(values))


def _days(values: Array) -> Array:
    days = values.astype("M8[D]").view(np.int64)
    if (days[~np.isnat(values)] != days[~np.isnat(values)].astype(np.int32)).any():
        raise BatchError("a date is too far away for a date column")
    return days.astype(np.int32)


def _from_long_doubles(kind: ColumnType, values: Array) -> Column:
    """Arrow does not know them."""
    with np.errstate(over="ignore", invalid="ignore"):
        stored = values.astype(kind.dtype)
        if kind.kind == "float":
            if (np.isinf(stored) & ~np.isinf(values)).any():
                raise too_large(kind)
        elif not (stored.astype(values.dtype) == values).all():
            raise BatchError(f"not all of these numbers are integers that fit {kind}; {_hint(kind)}")
    return Column(_ready(stored, kind.dtype))


def _widens(source: DType, target: DType) -> bool:
    """Numpy calls int64 -> float64 safe, but it rounds; only steps that keep every value count here."""
    if source == target:
        return True
    return np.can_cast(source, target, "safe") and (target.kind != "f" or source.itemsize < target.itemsize)


def _from_arrow(kind: ColumnType, array: pa.Array | pa.ChunkedArray, zones_known: bool = True) -> Column:
    """A checked cast to the declared type, then storage values and a mask."""
    array = _single(array)
    if kind.kind in FITTED:
        return fit(kind, array)
    if array.null_count == len(array):
        array = pa.nulls(len(array))  # whatever its type is, nothing in it has one
    if not pat.is_null(array.type):
        _refuse_type(kind, array.type, zones_known)
    valid = arrow.valid_of(array)
    if kind.kind == "string":
        text = array if pat.is_string(array.type) else array.cast(pa.string())
        return Column(arrow.with_nulls(text, None), valid)
    values = _ready(arrow.to_numpy(_cast(kind, array), kind.dtype), kind.dtype)
    if valid is not None:
        # Not in place: the buffer may be the caller's, and writeable.
        values = np.where(valid, values, np.zeros((), kind.dtype))
    if kind.dtype == np.float32 and pat.is_float64(array.type) and np.isinf(values).any():
        _refuse_new_infinities(kind, array)
    return Column(values, valid)


def _single(array: pa.Array | pa.ChunkedArray) -> pa.Array:
    """One array without a dictionary."""
    if not isinstance(array, pa.ChunkedArray):
        return _decoded(array)
    chunks = [_decoded(chunk) for chunk in array.chunks]
    if len(chunks) < 2:
        return chunks[0] if chunks else pa.nulls(0)
    whole = pa.chunked_array(chunks).combine_chunks()
    if isinstance(whole, pa.ChunkedArray):
        raise BatchError("more than 2 GB of text in one batch; push it in smaller pieces")
    return whole


def _decoded(array: pa.Array) -> pa.Array:
    """The values that a dictionary stands for. Arrow takes none out of a dictionary of string views, as of polars."""
    if not pat.is_dictionary(array.type):
        return array
    values = array.dictionary
    if pat.is_string_view(values.type) or pat.is_binary_view(values.type):
        values = values.cast(pa.string())
    return values.take(array.indices)


def _cast(kind: ColumnType, array: pa.Array) -> pa.Array:
    """Arrow's casts refuse what does not fit, except that any integer becomes a bool."""
    if kind.kind == "timestamp":
        # A zone changes how an instant is shown, not its count; so the source's own zone will do.
        if pat.is_int64(array.type) or getattr(array.type, "unit", None) == kind.unit:
            return array
        return array.cast(pa.timestamp(kind.unit, getattr(array.type, "tz", None)))
    if array.type == kind.arrow:
        return array
    if kind.kind == "float" and pat.is_decimal(array.type):
        return floats(kind, array.to_pylist())  # Arrow does not always find the nearest
    try:
        stored = array.cast(kind.arrow)
    except pa.ArrowInvalid:
        if kind.kind != "float" or not _all_exact(kind, array):
            raise
        stored = array.cast(kind.arrow, safe=False)
    if kind.kind == "bool" and pat.is_integer(array.type):
        if pc.any(pc.not_equal(array, stored.cast(array.type))).as_py():
            raise BatchError("a bool column takes true and false, or 1 and 0, nothing else; compare first")
    return stored


def _all_exact(kind: ColumnType, array: pa.Array) -> bool:
    """Whether floats hold all of these integers: beyond 2**53 float64 holds some, and Arrow refuses all."""
    holds = kind.dtype.type
    return pat.is_integer(array.type) and all(int(holds(v)) == v for v in array.to_pylist() if v is not None)


def _refuse_type(kind: ColumnType, source: pa.DataType, zones_known: bool) -> None:
    """Refuse values of a type that is not even to be tried."""
    fits = pat.is_boolean(source) or pat.is_integer(source)
    if kind.kind == "string":
        fits = pat.is_string(source) or pat.is_large_string(source) or pat.is_string_view(source)
        fits = fits or pat.is_binary(source) or pat.is_large_binary(source) or pat.is_binary_view(source)
    elif kind.kind == "timestamp":
        fits = pat.is_int64(source) or (pat.is_date(source) and kind.zone is None) or pat.is_timestamp(source)
        if pat.is_timestamp(source) and zones_known and (source.tz is None) != (kind.zone is None):
            raise BatchError(
                f"this column is {kind}, the values are {source}: one has a zone and the other has none; "
                "localise or convert the values, or declare the column as they are"
            )
    elif kind.kind != "bool":
        fits = fits or pat.is_floating(source) or pat.is_decimal(source)
    if not fits:
        raise BatchError(f"this column is {kind}, the values are {source}; {_hint(kind)}")


def _refuse_new_infinities(kind: ColumnType, array: pa.Array) -> None:
    """Rounding to float32 is what the column asks for; becoming infinite is not."""
    wide = arrow.to_numpy(array, np.dtype("float64"))
    with np.errstate(over="ignore"):
        grown = np.isinf(wide.astype(np.float32)) & ~np.isinf(wide)
    valid = arrow.valid_of(array)
    if (grown if valid is None else grown & valid).any():
        raise too_large(kind)


def _ready(values: Array, dtype: DType) -> Array:
    """As kernels ask: contiguous, aligned, writeable. Copies only if it must."""
    return np.require(values, dtype, ["C", "A", "W"])


def _refuse_dimensions(values: Array) -> None:
    if values.ndim != 1:
        raise BatchError(f"a column has one dimension, this one has {values.ndim}; give a 1-d array")

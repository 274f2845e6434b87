"""The forms in which a batch may come: lists, arrays of numpy, Arrow, pandas and polars, and how strings are held."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa

from tests import kinds
from tests.kinds import EPOCH, moment, pythonics, special, zone

__all__ = ["AS", "EPOCH", "formed", "moment", "moments", "unit", "zone"]


def unit(kind):
    """The unit of a timestamp type: "us" for "timestamp[us, UTC]"."""
    return kind.partition("[")[2].rstrip("]").partition(",")[0] or "us"


def moments(values, kind):
    """The times of a timestamp column as datetimes."""
    zoned = zone(kind) is not None
    return [None if value is None else moment(value, zoned) for value in values]


def as_list(values, kind):
    """Plain Python values; times are datetimes."""
    return pythonics(values, kind)


def as_numpy(values, kind):
    """An array of the column's own type, masked where there are NULLs; strings stay a list."""
    if special(kind) and not kind.startswith("timestamp"):
        return kinds.as_numpy(values, kind)
    if kind == "string":
        return values
    fill = [0 if value is None else value for value in values]
    if kind.startswith("timestamp"):
        array = np.array(fill, "int64").astype("datetime64[s]").astype(f"datetime64[{unit(kind)}]")
    else:
        array = np.array(fill, kind)
    missing = [value is None for value in values]
    return np.ma.masked_array(array, missing) if any(missing) else array


def as_arrow(values, kind):
    """An Arrow array of the column's own type; times with a zone are in another one than the column's."""
    if special(kind) and not kind.startswith("timestamp"):
        return kinds.as_arrow(values, kind)
    if kind.startswith("timestamp"):
        there = "America/New_York" if zone(kind) is not None else None
        return pa.array(moments(values, kind), pa.timestamp(unit(kind), there))
    return pa.array(
        values, {"bool": pa.bool_(), "float32": pa.float32(), "float64": pa.float64()}.get(kind, kind)
    )


def as_chunks(values, kind):
    """An Arrow array in three chunks, of which one is empty."""
    array, middle = as_arrow(values, kind), len(values) // 3
    return pa.chunked_array([array[:middle], array[:0], array[middle:]], array.type)


def as_dictionary(values, kind):
    """An Arrow array; strings are coded by a dictionary."""
    array = as_arrow(values, kind)
    return array.dictionary_encode() if kind == "string" else array


def as_objects(values, kind):
    """A numpy array of Python objects."""
    array = np.empty(len(values), object)
    array[:] = as_list(values, kind)
    return array


def as_fixed(values, kind):
    """As `as_numpy`, with strings of a fixed width where there are no NULLs."""
    if kind != "string" or None in values:
        return as_numpy(values, kind)
    return np.array(values, f"U{max(map(len, values), default=1) or 1}")


def as_pandas(values, kind):
    """A pandas Series: of numpy's types, of pandas' own where there are NULLs, and of objects for floats then."""
    if special(kind) and not kind.startswith("timestamp"):
        return kinds.as_pandas(values, kind)
    if kind.startswith("timestamp"):
        times = np.array([np.datetime64("NaT") if v is None else v for v in values], "datetime64[s]")
        series = pd.Series(times.astype("datetime64[ns]"))
        return series if zone(kind) is None else series.dt.tz_localize("UTC").dt.tz_convert("Asia/Tokyo")
    if kind == "string":
        return pd.Series(values, dtype="str" if len(values) % 2 else object)
    if None not in values:
        return pd.Series(np.array(values, kind))
    if kind.startswith("float"):
        return pd.Series(as_objects(values, kind))
    return pd.Series(values, dtype={"bool": "boolean"}.get(kind, kind.replace("i", "I").replace("uI", "UI")))


def as_polars(values, kind):
    """A polars Series of the column's own type; seconds become milliseconds."""
    if special(kind) and not kind.startswith("timestamp"):
        return kinds.as_polars(values, kind)
    if kind.startswith("timestamp"):
        of = pl.Datetime({"s": "ms"}.get(unit(kind), unit(kind)), "UTC" if zone(kind) else None)
        return pl.Series(moments(values, kind), dtype=of)
    names = {"string": "String", "bool": "Boolean"}
    name = names.get(kind) or kind.capitalize().replace("Uint", "UInt")
    return pl.Series(values, dtype=getattr(pl, name))


AS = {
    "list": (as_list, dict),
    "numpy": (as_numpy, dict),
    "arrow": (as_arrow, pa.table),
    "chunks": (as_chunks, pa.table),
    "dictionary": (as_dictionary, pa.table),
    "objects": (as_objects, dict),
    "fixed": (as_fixed, dict),
    "pandas": (as_pandas, pd.DataFrame),
    "polars": (as_polars, pl.DataFrame),
}
"""By name: what a column becomes, and what holds the columns."""


def formed(form, columns):
    """A batch in a form, from pairs of values and a type by column."""
    make, hold = AS[form]
    return hold({name: make(values, kind) for name, (values, kind) in columns.items()})

"""Values of other types than numbers and strings: whole numbers to the oracle, whose order and equality they share."""

import datetime
import uuid
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa

from eddy.values.types import column_type

EPOCH = datetime.datetime(1970, 1, 1)


def moment(seconds, zoned=False):
    """Seconds since 1970 as a datetime, of UTC if it is to have a zone."""
    found = EPOCH + datetime.timedelta(seconds=seconds)
    return found.replace(tzinfo=datetime.timezone.utc) if zoned else found


def zone(kind):
    """The zone of a timestamp type, or None."""
    return kind.rstrip("]").partition(", ")[2] or None


def family(kind):
    """The name of a type without its parameters: "decimal" for "decimal(10, 2)"."""
    return kind.partition("[")[0].partition("(")[0]


MAKE = {
    "timestamp": lambda value, kind: moment(value, zone(kind) is not None),
    "date": lambda value, kind: EPOCH.date() + datetime.timedelta(days=value),
    "time": lambda value, kind: moment(value).time(),
    "duration": lambda value, kind: datetime.timedelta(seconds=value),
    "decimal": lambda value, kind: Decimal(value) / 4,
    "uuid": lambda value, kind: uuid.UUID(int=value),
    "binary": lambda value, kind: value.to_bytes(2, "big"),
}
"""By family of types: a Python value for a whole number."""


def special(kind):
    """Whether the oracle has whole numbers where the engine has other values."""
    return family(kind) in MAKE


def pythonic(value, kind):
    """What the engine shows for a value of the oracle's."""
    make = MAKE.get(family(kind))
    return value if make is None or value is None else make(value, kind)


def pythonics(values, kind):
    """The same of several."""
    return [pythonic(value, kind) for value in values]


def as_numpy(values, kind):
    """An array of numpy's own type, where it has one; else a list."""
    if family(kind) not in ("date", "duration"):
        return pythonics(values, kind)
    unit = "D" if kind == "date" else "s"
    letter = "M8" if kind == "date" else "m8"
    counts = np.array([0 if value is None else value for value in values], "int64").astype(
        f"{letter}[{unit}]"
    )
    if letter == "m8":
        counts = counts.astype(f"m8[{column_type(kind).unit}]")
    counts[[value is None for value in values]] = "NaT"
    return counts


def as_arrow(values, kind):
    """An Arrow array of the column's own type."""
    return pa.array(pythonics(values, kind), column_type(kind).arrow)


def as_pandas(values, kind):
    """A pandas Series: dates and durations as numpy has them, others as objects."""
    if family(kind) == "date":
        return pd.Series(pd.to_datetime(pythonics(values, kind)))
    if family(kind) == "duration":
        return pd.Series(pd.to_timedelta(pythonics(values, kind)))
    return pd.Series(pythonics(values, kind), dtype=object)


def as_polars(values, kind):
    """A polars Series; UUIDs are bytes there."""
    of = column_type(kind)
    found = pythonics(values, kind)
    if kind == "uuid":
        found = [None if value is None else value.bytes for value in found]
    types = {
        "date": pl.Date,
        "time": pl.Time,
        "duration": pl.Duration({None: "us", "s": "ms"}.get(of.unit, of.unit)),
        "decimal": pl.Decimal(38, of.scale or 3),
    }
    return pl.Series(found, dtype=types.get(family(kind), pl.Binary))

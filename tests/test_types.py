"""Column types: what may be written for them, and what they store."""

import datetime
import pickle

import numpy as np
import pyarrow as pa
import pytest

from eddy.errors import QueryError
from eddy.types import column_type


@pytest.mark.parametrize(
    ("spec", "name"),
    [
        ("int8", "int8"),
        ("uint64", "uint64"),
        ("float32", "float32"),
        (" bool ", "bool"),
        ("str", "string"),
        ("string", "string"),
        ("timestamp", "timestamp[us]"),
        ("timestamp[ns,Europe/Berlin]", "timestamp[ns, Europe/Berlin]"),
        ("timestamp[ms, +01:00]", "timestamp[ms, +01:00]"),
        (int, "int64"),
        (float, "float64"),
        (bool, "bool"),
        (str, "string"),
        (datetime.datetime, "timestamp[us]"),
        (np.int16, "int16"),
        (np.dtype(">i4"), "int32"),
        (np.dtype("M8[ms]"), "timestamp[ms]"),
        (np.dtype("U5"), "string"),
        (pa.float32(), "float32"),
        (pa.float64(), "float64"),
        (pa.large_string(), "string"),
        (pa.dictionary(pa.int8(), pa.string()), "string"),
        (pa.timestamp("s", "UTC"), "timestamp[s, UTC]"),
        (column_type("int32"), "int32"),
    ],
)
def test_names(spec, name):
    """A type is known by its own name, by Python's, by numpy's and by pyarrow's."""
    assert column_type(spec).name == name


@pytest.mark.parametrize(
    "name", ["int8", "uint64", "float32", "bool", "string", "timestamp[ns, Europe/Berlin]"]
)
def test_arrow(name):
    """The arrow type of a column type names that column type again, and so does a pickled copy."""
    of = column_type(name)
    assert column_type(of.arrow) == of == pickle.loads(pickle.dumps(of))


def test_storage():
    """Times and strings are stored as int64, everything else in its own dtype."""
    assert column_type("timestamp[s]").dtype == column_type("string").dtype == np.int64
    assert column_type("uint8").dtype == np.uint8
    assert column_type("timestamp[ns, UTC]").unit == "ns"
    assert column_type("timestamp[ns, UTC]").zone == "UTC"


@pytest.mark.parametrize(
    "spec", ["int128", "", None, object, list, pa.date32(), np.float16, "timestamp[h]", 7]
)
def test_unknown(spec):
    """What is no column type is refused with the list of those that are."""
    with pytest.raises(QueryError, match=r"unknown column type.*int8 to int64"):
        column_type(spec)

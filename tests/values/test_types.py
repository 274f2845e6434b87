"""Column types: what may be written for them, and what they store."""

import datetime
import pickle
import re

import numpy as np
import pyarrow as pa
import pytest

from eddy.engine.eddy import Eddy
from eddy.errors import QueryError
from eddy.query.query import Query, Stream
from eddy.query.sql import sql
from eddy.values.types import column_type


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
        ("timestamp[ms, -0330]", "timestamp[ms, -03:30]"),
        ("timestamp[ms, utc]", "timestamp[ms, UTC]"),
        ("timestamp[s, Etc/GMT+2]", "timestamp[s, Etc/GMT+2]"),
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


@pytest.mark.parametrize("spec", ["int128", "", None, object, list, pa.null(), np.float16, "timestamp[h]", 7])
def test_unknown(spec):
    """What is no column type is refused with the list of those that are."""
    with pytest.raises(QueryError, match=r"unknown column type.*int8 to int64"):
        column_type(spec)


@pytest.mark.parametrize(
    "zone", ["Mars/Olympus", "Europe", "+25:00", "+02:70", "+02", "/etc/passwd", "../x", "Z"]
)
def test_unknown_zones(zone):
    """A zone that nobody knows is refused where the column is declared, however that is done."""
    message = f"column 'ts': unknown time zone {zone!r}: use a name such as 'Europe/Berlin'"
    columns = {"ts": f"timestamp[us, {zone}]", "x": "int64"}
    known = {"x": "int64"}
    for declare in (
        lambda: Stream(columns),
        lambda: Stream({"ts": pa.timestamp("us", zone)}),
        lambda: Query({"A": columns, "B": known}, "A.x = B.x"),
        lambda: sql("SELECT A.x FROM A, B WHERE A.x = B.x", {"A": columns, "B": known}),
    ):
        with pytest.raises(QueryError, match=re.escape(message)):
            declare()


@pytest.mark.parametrize("zone", ["Europe/Berlin", "+02:00", "-0530", "utc", "Etc/GMT+2"])
def test_known_zones_can_be_shown(zone):
    """What a column may be declared with, a result can be printed and read with."""
    query = Query({"A": {"t": f"timestamp[us, {zone}]"}, "B": {"x": "int64"}}, cross=True)
    engine = Eddy(query)
    engine.push("A", {"t": [datetime.datetime(2024, 7, 1, 12, tzinfo=datetime.timezone.utc)]})
    result = engine.push("B", {"x": [1]})
    assert "2024-07-01" in str(result)
    assert result.to_pydict()["A.t"][0].timestamp() == 1719835200

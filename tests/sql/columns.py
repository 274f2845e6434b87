"""The columns of the tables that random statements read, and the constants that stand in them."""

from __future__ import annotations

import pyarrow as pa

TYPES = {
    "int": pa.int64(),
    "float": pa.float64(),
    "str": pa.string(),
    "bool": pa.bool_(),
    "ts": pa.timestamp("us"),
    "dec": pa.decimal128(8, 2),
    "day": pa.date32(),
}
COLUMNS = {
    **{"i": "int", "j": "int", "f": "float", "s": "str", "t": "str", "flag": "bool", "at": "ts"},
    **{"m": "dec", "day": "day"},
}
KINDS = {kind: name for name, kind in TYPES.items()}
SCHEMA = pa.schema([(name, TYPES[kind]) for name, kind in COLUMNS.items()])
NATURAL = {
    name: pa.schema([("k", pa.int64()), ("s", pa.string()), (f"v{name}", pa.int64())]) for name in "DEF"
}
"""Tables that share some names of columns."""
WORDS = ["", "a", "ab", "Abc", "b_b", "50%", "x y", " pad ", "äö", "aXbX"]
PATTERNS = ["a%", "%b%", "_b%", "%\\%", "", "%", "A_c", "x y"]
PARTS = ["year", "quarter", "month", "week", "day", "hour", "minute", "second", "dow", "doy"]
STEPS = ["year", "month", "week", "day", "hour", "minute"]

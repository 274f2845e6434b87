"""A plain three-valued evaluator of expressions, and strategies for predicates and their columns."""

import math
import operator

import numpy as np
import pyarrow as pa
from hypothesis import strategies as st

from eddy.query.comparisons import Comparison, InList, IsNull
from eddy.query.expressions import Absolute, Literal, Negation, Reference
from eddy.query.logic import And, Not, Or
from eddy.query.names import Scope
from eddy.query.parse import condition
from eddy.values.types import UNITS, Column, column_type, finest

TYPES = {
    "i": "int64",
    "h": "int8",
    "u": "uint64",
    "w": "uint16",
    "f": "float64",
    "g": "float32",
    "b": "bool",
    "s": "string",
    "t": "timestamp[s]",
    "m": "timestamp[ms]",
    "n": "timestamp[ns]",
    "z": "timestamp[us, Europe/Berlin]",
}
SCOPE = Scope({name: {c: column_type(t) for c, t in TYPES.items()} for name in ("A", "B")})

COMPARE = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
EXACT = {"+": operator.add, "-": operator.sub, "*": operator.mul}


def parse(text):
    return condition(text, SCOPE)


def plain(node, row):
    """The value of an expression for one row, in plain Python; None is NULL."""
    if isinstance(node, Reference):
        return row[node.stream, node.column]
    if isinstance(node, Literal):
        return node.value
    if isinstance(node, IsNull):
        return plain(node.operand, row) is None
    values = [plain(child, row) for child in node.children]
    if isinstance(node, InList):
        parts = [plain(Comparison("=", node.operand, option), row) for option in node.options]
        return True if True in parts else None if None in parts else False
    if isinstance(node, And):
        return False if False in values else None if None in values else True
    if isinstance(node, Or):
        return True if True in values else None if None in values else False
    if None in values:
        return None
    if isinstance(node, Not):
        return not values[0]
    if isinstance(node, Comparison):
        return COMPARE[node.op](*in_one_unit(node, values))
    if isinstance(node, Negation):
        return fitting(node, -values[0])
    if isinstance(node, Absolute):
        return fitting(node, abs(values[0]))
    return fitting(node, arithmetic(node, *in_one_unit(node, values)))


def in_one_unit(node, values):
    units = [child.type.unit for child in (node.left, node.right)]
    if None in units:
        return values
    return [v * (UNITS[finest(*units)] // UNITS[unit]) for v, unit in zip(values, units, strict=True)]


def arithmetic(node, a, b):
    if node.op in "/%" and b == 0:
        return None
    if node.op == "/":
        return float(a) / float(b)
    if node.type.kind == "float":
        a, b = float(a), float(b)
        if node.op == "%":
            return math.nan if math.isinf(a) or math.isnan(a + b) else math.fmod(a, b)
    elif node.op == "%":
        return abs(a) % abs(b) * (-1 if a < 0 else 1)
    return EXACT[node.op](a, b)


def fitting(node, value):
    """An integer that does not fit its type is NULL."""
    if not isinstance(value, int):
        return value
    bounds = np.iinfo(node.type.dtype)
    return value if bounds.min <= value <= bounds.max else None


EDGES = [0, 1, -1, 2, 3, 7, 2**31, 2**53, 2**53 + 1, -(2**53) - 1, 2**62, 2**63 - 1, -(2**63), -(2**63) + 1]
FLOATS = [
    0.0,
    -0.0,
    0.5,
    1.0,
    -2.5,
    2.0**53,
    2.0**63,
    -(2.0**63),
    2.0**64,
    1e300,
    math.inf,
    -math.inf,
    math.nan,
]
VALUES = {
    "i": st.sampled_from(EDGES) | st.integers(-5, 5),
    "h": st.integers(-128, 127),
    "u": st.sampled_from([0, 1, 2, 2**53 + 1, 2**63 - 1, 2**63, 2**64 - 1]),
    "w": st.integers(0, 3) | st.just(65535),
    "f": st.sampled_from(FLOATS) | st.floats(-4, 4),
    "g": st.sampled_from([0.0, 0.5, 1.5, -3.0, math.nan, math.inf, 2.0**63]),
    "b": st.booleans(),
    "s": st.sampled_from(["", "a", "b", "B", "ä", "z", "\U0001f600", "\uffff", "a'b"]),
    "t": st.sampled_from([0, 1, -1, 5, 1_700_000_000, 2**62, -(2**63)]),
    "m": st.sampled_from([0, 1, -1, 999, 1000, -1000, 1001, 1_700_000_000_000, 2**63 - 1]),
    "n": st.sampled_from([0, 1, -1, 10**9, 10**9 - 1, 1_700_000_000_000_000_000, -(2**63)]),
}
DTYPES = {name: column_type(TYPES[name]).dtype for name in VALUES}


def column(name, values):
    valid = np.array([v is not None for v in values], bool)
    if name == "s":
        array = pa.array([v or "" for v in values], pa.string())
    else:
        array = np.array([0 if v is None else v for v in values], DTYPES[name])
    return Column(array, None if valid.all() else valid)


def table(draw, needed):
    """Rows as dicts of the columns that an expression reads, and a function that gets them as columns."""
    n = draw(st.integers(0, 6))
    data = {key: draw(st.lists(st.none() | VALUES[key[1]], min_size=n, max_size=n)) for key in sorted(needed)}
    rows = [{key: values[i] for key, values in data.items()} for i in range(n)]
    columns = {key: column(key[1], values) for key, values in data.items()}
    return rows, lambda stream, name: columns[stream, name]


def references(names):
    return st.tuples(st.sampled_from("AB"), st.sampled_from(names)).map(".".join)


numbers = st.recursive(
    references("ihuwfg")
    | st.sampled_from(["0", "1", "-3", "2.5", "9223372036854775807", "18446744073709551615"]),
    lambda inner: (
        st.tuples(inner, st.sampled_from("+-*/%"), inner).map("({0[0]} {0[1]} {0[2]})".format)
        | inner.map("ABS({})".format)
        | inner.map("-({})".format)
    ),
    max_leaves=4,
)
operators = st.sampled_from(["=", "!=", "<>", "<", "<=", ">", ">="])


def compared(sides):
    return st.tuples(sides, operators, sides).map("{0[0]} {0[1]} {0[2]}".format)


atoms = (
    compared(numbers)
    | compared(references("s") | st.sampled_from(["'a'", "'ä'", "''"]))
    | compared(references("tmn"))
    | st.tuples(references("tmn"), references("tmn")).map(
        "ABS({0[0]} - {0[1]}) <= INTERVAL '1' SECOND".format
    )
    | st.sampled_from(
        ["-INTERVAL '1' SECOND", "2 * INTERVAL '500 ms'", "TIMESTAMP '1970-01-01' - TIMESTAMP '1970-01-02'"]
    ).map("A.t - B.m > {}".format)
    | references("tmn").map("{} > TIMESTAMP '1969-12-31' + INTERVAL '1 day 1 ms'".format)
    | references("b")
    | st.sampled_from(["TRUE", "FALSE", "NULL", "A.i = NULL", "A.b = B.i", "A.b != B.f"])
    | numbers.map("{} IS NULL".format)
    | references("istb").map("{} IS NOT NULL".format)
    | numbers.map("{} IN (1, 2.5, 9007199254740993, NULL)".format)
    | references("ihuf").map("{} NOT IN (0, 1, -1)".format)
    | references("s").map("{} IN ('a', 'b')".format)
    | references("m").map("{} IN ('1970-01-01', '1970-01-01 00:00:00.999', '1970-01-01 00:00:01')".format)
    | st.tuples(numbers, numbers, numbers).map("{0[0]} BETWEEN {0[1]} AND {0[2]}".format)
    | st.tuples(numbers, numbers).map("{0[0]} NOT BETWEEN {0[1]} AND {0[1]}".format)
    | st.tuples(references("i"), references("u")).map("{0[0]} IN ({0[1]}, 3)".format)
)
predicates = st.recursive(
    atoms,
    lambda inner: (
        st.tuples(inner, st.sampled_from(["AND", "OR"]), inner).map("({0[0]}) {0[1]} ({0[2]})".format)
        | inner.map("NOT ({})".format)
    ),
    max_leaves=4,
)

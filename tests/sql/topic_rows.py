"""The rows that the statements of `tests/sql/topics` read: few, with NULLs and edge values."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from decimal import Decimal

import pyarrow as pa

INT, FLOAT, TEXT, BOOL = pa.int64(), pa.float64(), pa.string(), pa.bool_()
DAY, MONEY = pa.date32(), pa.decimal128(8, 2)
TIME, SECONDS = pa.timestamp("us"), pa.timestamp("s")
T = datetime.datetime


def _table(schema: dict[str, pa.DataType], *rows: Sequence[object]) -> pa.Table:
    columns = [
        pa.array(list(values), kind)
        for values, kind in zip(zip(*rows, strict=True), schema.values(), strict=True)
    ]
    return pa.table(columns, pa.schema(list(schema.items())))


TABLES = {
    "orders": _table(
        {"id": INT, "customer": TEXT, "item": TEXT, "price": FLOAT, "gift": BOOL, "placed": TIME},
        (1, "ann", "book", 12.5, True, T(2024, 1, 15, 10, 30)),
        (2, "bob", "Bike", 250.0, False, T(2024, 2, 29, 23, 59, 59, 500000)),
        (3, "ann", None, 3.25, None, None),
        (4, None, "bag", None, True, T(1969, 12, 31, 23)),
        (5, "cid", "book", -2.5, False, T(2024, 3, 1)),
    ),
    "payments": _table(
        {"pay": INT, "order_id": INT, "cents": INT, "method": TEXT},
        (1, 1, 1250, "card"),
        (2, 2, 10000, "cash"),
        (3, 2, 15000, "card"),
        (4, 3, None, "card"),
        (5, None, 75, None),
        (6, 9, 0, "cash"),
    ),
    "items": _table(
        {"item": TEXT, "kind": TEXT, "weight": FLOAT},
        ("book", "paper", 0.5),
        ("Bike", "sport", None),
        ("lamp", "home", 1.25),
        (None, "none", 0.0),
    ),
    "stock": _table(
        {"item": TEXT, "kind": TEXT, "n": INT},
        ("book", "paper", 7),
        ("book", "used", 2),
        ("Bike", "sport", 0),
        ("bag", None, None),
    ),
    "numbers": _table(
        {"i": INT, "j": INT, "f": FLOAT},
        (0, 3, 0.5),
        (-7, 2, -1.5),
        (5, 0, 2.25),
        (2**62, 2, 1e300),
        (None, 1, None),
    ),
    "words": _table(
        {"s": TEXT, "t": TEXT},
        ("", "x"),
        ("Abc", "b"),
        (" äö ", "Ä"),
        ("50%_x", "%"),
        (None, "n"),
        ("a,b,a", None),
    ),
    "times": _table(
        {"a": TIME, "b": SECONDS},
        (T(2024, 2, 29, 23, 59, 58, 123456), T(2024, 3, 1)),
        (T(1969, 12, 28, 0, 0, 1), T(1970, 1, 1)),
        (T(2020, 12, 31, 12), T(2021, 1, 3)),
        (None, T(2000, 1, 1)),
    ),
    "sales": _table(
        {"day": DAY, "amount": MONEY, "rate": pa.decimal128(4, 3), "clock": pa.time64("us"), "n": INT},
        (datetime.date(2024, 2, 29), Decimal("12.50"), Decimal("0.125"), datetime.time(10, 30), 1),
        (datetime.date(2024, 3, 1), Decimal("-0.05"), Decimal("1.500"), datetime.time(0), 2),
        (datetime.date(1969, 12, 31), Decimal("999999.99"), None, datetime.time(23, 59, 59, 5), 1),
        (None, None, Decimal("0.333"), None, 2),
        (datetime.date(2024, 3, 1), Decimal("2.25"), Decimal("2.000"), datetime.time(10, 30), None),
    ),
    "parcels": _table(
        {
            "number": INT,
            "place": pa.struct([("city", TEXT), ("spot", pa.struct([("x", INT)]))]),
            "tags": pa.list_(TEXT),
            "worth": pa.decimal128(22, 2),
        },
        (1, {"city": "Rome", "spot": {"x": 4}}, ["new"], Decimal("12345678901234567890.12")),
        (2, None, [], Decimal("1.50")),
        (3, {"city": None, "spot": None}, None, None),
        (4, {"city": "Bonn", "spot": {"x": 2}}, ["a", "b"], Decimal("-2.00")),
    ),
    "truths": _table(
        {"p": BOOL, "q": BOOL, "n": INT},
        (True, None, 1),
        (False, True, 2),
        (None, True, None),
        (False, False, 0),
    ),
    "ticks": _table(
        {"ts": INT, "k": INT, "v": INT},
        (0, 1, 10),
        (3, 2, 20),
        (5, 1, 30),
        (9, 1, 40),
        (10, 2, 50),
    ),
    "quotes": _table({"ts": INT, "k": INT, "p": INT}, (1, 1, 7), (4, 1, 8), (6, 2, 9), (11, 1, 6)),
    "calls": _table(
        {"ts": SECONDS, "k": INT},
        (T(2024, 1, 1, 0, 0), 1),
        (T(2024, 1, 1, 0, 4), 2),
        (T(2024, 1, 1, 0, 6), 1),
        (T(2024, 1, 1, 0, 10), 2),
    ),
}
"""By name. No two have the same columns, so that a stream's columns tell which rows are its."""

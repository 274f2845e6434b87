"""Rows of two streams, and results that read them."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa

from eddy.intake.columns import normalise
from eddy.results.contents import Contents
from eddy.results.result import Result
from eddy.store.payload import Payload
from eddy.values.strings import StringPool
from eddy.values.types import Column, column_type

A = {
    "x": "int64",
    "i8": "int8",
    "u": "uint64",
    "f": "float32",
    "v": "float64",
    "b": "bool",
    "s": "string",
    "t": "timestamp[ns]",
    "z": "timestamp[us, Europe/Berlin]",
}


B = {"x": "int64", "s": "string"}


NOON = dt.datetime(2024, 1, 1, 12, tzinfo=dt.timezone.utc)


ROWS_A = {
    "x": [10, 11, None, 13],
    "i8": [1, None, -128, 127],
    "u": [0, 2**64 - 1, None, 1],
    "f": [0.5, None, float("inf"), 2.5],
    "v": [None, 0.25, 0.5, 0.75],
    "b": [True, None, False, True],
    "s": ["a", None, "", "日本"],
    "t": [None, dt.datetime(2024, 1, 1), dt.datetime(1969, 1, 1), None],
    "z": [NOON, None, NOON, None],
}


ROWS_B = {"x": [5, 6], "s": ["left", "right"]}


class Feed:
    """Two payloads, and a log of what results ask of them."""

    def __init__(self) -> None:
        self.pool = StringPool()
        self.payloads: dict[str, Payload] = {}
        self.log: list[Any] = []
        self.fetched: Counter[tuple[str, str]] = Counter()
        for name, kinds, rows in [("A", A, ROWS_A), ("B", B, ROWS_B)]:
            stream = SimpleNamespace(
                parse=False,
                columns={c: column_type(kind) for c, kind in kinds.items()},
                time=None,
                strict=False,
            )
            columns, n = normalise(name, stream, rows)
            for column, kind in kinds.items():
                if kind == "string":
                    codes = self.pool.encode(columns[column].values)
                    columns[column] = Column(codes, columns[column].valid)
            self.payloads[name] = Payload(stream.columns, self.pool)
            self.payloads[name].append(columns, n)
        select = [("A", c) for c in A] + [("B", c) for c in B]
        self.query = SimpleNamespace(
            computed=(),
            names=("B", "A"),
            select=tuple(
                SimpleNamespace(name=f"{s}.{c}", stream=s, column=c, type=self.payloads[s].columns[c])
                for s, c in select
            ),
        )

    def result(self, *pairs: tuple[int, int], sign: list[int] | None = None) -> Result:
        """Rows of (A, B); the query declares B first."""

        def signs() -> np.ndarray:
            self.log.append("sign")
            return np.array(sign, np.int8)

        def rows() -> np.ndarray:
            self.log.append("rows")
            return np.array([(b, a) for a, b in pairs], np.int64).reshape(-1, 2)

        def fetch(stream: str, columns: Sequence[str], wanted: np.ndarray) -> list[Column]:
            assert wanted.flags.c_contiguous
            self.log += [(stream, column) for column in columns]
            self.fetched.update({(stream, column): len(wanted) for column in columns})
            return self.payloads[stream].take_all(columns, wanted)

        return Result(Contents(self.query, len(pairs), rows, fetch, None if sign is None else signs))

    def aggregate(self, groups: list, counts: list[int], sign: list[int] | None = None) -> Result:
        """Ready columns: a string that may be NULL, and a count."""
        texts = pa.array([group or "" for group in groups], pa.string())
        valid = None if None not in groups else np.array([group is not None for group in groups])
        columns = {"n": Column(np.array(counts, np.int64)), "A.s": Column(texts, valid)}
        types = {"A.s": column_type("string"), "n": column_type("int64")}
        return Result(
            Contents.of_columns(self.query, columns, types, None if sign is None else np.array(sign, np.int8))
        )


PAIRS = [(3, 0), (0, 1), (1, 1), (2, 0), (0, 0)]


def expected() -> dict[str, list]:
    wanted = {f"A.{c}": [ROWS_A[c][a] for a, _ in PAIRS] for c in A}
    return wanted | {f"B.{c}": [ROWS_B[c][b] for _, b in PAIRS] for c in B}


def naive(values: dict[str, list]) -> dict[str, list]:
    """Timestamps as plain datetimes in UTC: pandas' own class and zones aside."""

    def one(value: Any) -> Any:
        if isinstance(value, dt.datetime):
            value = value.astimezone(dt.timezone.utc).replace(tzinfo=None) if value.tzinfo else value
            return dt.datetime(*value.timetuple()[:6])
        return value

    return {name: [one(value) for value in column] for name, column in values.items()}

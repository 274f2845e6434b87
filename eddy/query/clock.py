"""One unit of time for a whole query, and windows as plain numbers in it."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from attrs import frozen

from eddy.errors import BatchError, QueryError
from eddy.query.windows import Range, Rows, Sliding, Tumbling, Unbounded, Width, uses_time
from eddy.values.arithmetic import integer_arithmetic
from eddy.values.durations import nanoseconds
from eddy.values.types import UNITS, Array, ColumnType, finest

if TYPE_CHECKING:
    from eddy.query.stream import Stream

_LIMIT = 2**62
TIMES = "int8 to int64, uint8 to uint32, or a timestamp"
"""Types of columns that can be a time."""


@frozen(eq=False)
class Clock:
    """The common unit (None where time is a plain integer) and what each stream's times are multiplied by."""

    unit: str | None
    factors: dict[str, int]

    def time_of(self, stream: str, values: Array) -> Array:
        """Times of a stream as int64 in the common unit."""
        factor = self.factors[stream]
        values = values.astype(np.int64, copy=False)
        if factor == 1:
            return values
        times, fits = integer_arithmetic("*", values, np.array([factor]), np.dtype("int64"))
        if fits is not None:
            worst = values[int(np.argmin(fits))]
            raise BatchError(
                f"a time of stream {stream} ({worst}) is out of range: another stream counts in {self.unit}, "
                "which reaches from 1678 to 2262; declare all time columns in a coarser unit"
            )
        return times

    def width(self, stream: str, width: Width, what: object, exact: bool) -> int:
        """A width in the common unit. A range may be rounded down: times between whole units do not occur."""
        if not isinstance(width, (str, datetime.timedelta)):
            if self.unit is not None and width:
                own = next(unit for unit in UNITS if UNITS[unit] * self.factors[stream] == UNITS[self.unit])
                other = "minutes" if own == "s" else "seconds"
                in_sql = f"; in SQL {width} {own.upper()}, or {width} {other.upper()}"
                raise QueryError(
                    f"{what} of stream {stream}: its time is a timestamp, so say what {width} counts, as in '{width} "
                    f"{own}', the unit of the column, or '{width} {other}'{'' if what == 'lateness' else in_sql}"
                )
            return self._bounded(width * self.factors[stream], what)
        if self.unit is None:
            raise QueryError(
                f"{what} of stream {stream} is a duration, but its time column is an integer: "
                "write the width as a number of the column's own unit"
            )
        count, rest = divmod(nanoseconds(width) * UNITS[self.unit], UNITS["ns"])
        if exact and rest:
            raise QueryError(
                f"{what} of stream {stream} is not a whole number of {self.unit}, the unit of time"
            )
        return self._bounded(count, what)

    def _bounded(self, width: int, what: object) -> int:
        if width >= _LIMIT:
            raise QueryError(f"{what} is too wide for 64-bit times")
        return width


def clock_of(streams: Mapping[str, Stream]) -> Clock | None:
    """The clock of some streams, static ones aside; None where one has no time, or times cannot be compared.

    If a window uses time, that is an error.
    """
    needed = [name for name, stream in streams.items() if uses_time(stream.window)]
    without = [name for name, stream in streams.items() if stream.time is None and not stream.static]
    if without:
        if needed:
            raise QueryError(
                f"the window of {needed[0]} uses time, so every stream needs a time column, but {lacking(streams)}"
            )
        return None
    types: dict[str, ColumnType] = {n: s.columns[s.time] for n, s in streams.items() if s.time is not None}
    clocks = {(of.kind == "timestamp", of.zone is not None) for of in types.values()}
    if len(clocks) > 1:
        if needed:
            told = ", ".join(f"{name}.{streams[name].time} is {of}" for name, of in types.items())
            raise QueryError(
                f"the times of the streams cannot be compared: {told}; declare all of them alike"
            )
        return None
    units = [of.unit for of in types.values() if of.unit is not None]
    if not units:
        return Clock(None, dict.fromkeys(types, 1))
    unit = finest(*units)
    return Clock(unit, {name: UNITS[unit] // UNITS[str(of.unit)] for name, of in types.items()})


def may_be_time(of: ColumnType) -> bool:
    """Whether a column of this type can be a time: its values fit int64, and are whole."""
    return of.kind == "timestamp" or (of.is_integer and of.name != "uint64")


def lacking(streams: Mapping[str, Stream]) -> str:
    """Which streams have no time, why - there is no column ts, or its type cannot be a time - and what to do."""
    without = [name for name, stream in streams.items() if stream.time is None and not stream.static]
    unfit = {name: streams[name].columns["ts"] for name in without if "ts" in streams[name].columns}
    none = [name for name in without if name not in unfit]
    told = [f"{name}.ts is {of}, which cannot be a time" for name, of in unfit.items()]
    told += [f"{', '.join(none)} {'has' if len(none) == 1 else 'have'} none"] if none else []
    advice = "add an integer or timestamp column ts"
    if unfit:
        advice = f"declare a column ts as {TIMES}"
    return f"{' and '.join(told)}: {advice}, or name another with Stream(..., time=)"


def window_numbers(streams: Mapping[str, Stream], clock: Clock | None) -> tuple[Array, Array, Array]:
    """Kind, parameter and step of each window; `Query.window_table` lists the kinds."""
    table: list[tuple[int, ...]] = []
    for name, stream in streams.items():
        window = stream.window
        if isinstance(window, Rows):
            table.append((1, window.n, 0))
        elif isinstance(window, Range) and clock is not None:
            table.append((2, clock.width(name, window.width, window, False), 0))
        elif isinstance(window, Sliding) and clock is not None:
            step = clock.width(name, window.every, window, True)
            table.append((6, clock.width(name, window.width, window, False), step))
        elif isinstance(window, Tumbling) and window.rows is not None:
            table.append((3, window.rows, 0))
        elif isinstance(window, Tumbling) and window.time is not None and clock is not None:
            table.append((4, clock.width(name, window.time, window, True), 0))
        else:
            assert isinstance(window, Unbounded), "a window by time needs a clock"
            table.append((0, 0, 0))
    kinds, params, steps = np.array(table, np.int64).T
    return np.ascontiguousarray(kinds), np.ascontiguousarray(params), np.ascontiguousarray(steps)

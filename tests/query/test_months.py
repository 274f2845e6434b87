"""Months and years added to times: the same day of another month, or its last one."""

from __future__ import annotations

import calendar
import datetime
import random
import zoneinfo

import numpy as np
import pyarrow as pa
import pytest

import eddy
from eddy.query.names import Scope
from eddy.query.parse import condition
from eddy.values.durations import months_and_nanoseconds
from eddy.values.types import Column, column_type


def later(time: datetime.datetime, months: int) -> datetime.datetime:
    """So many months later, one by one day of the calendar."""
    year, month = divmod(time.year * 12 + time.month - 1 + months, 12)
    last = calendar.monthrange(year, month + 1)[1]
    return time.replace(year=year, month=month + 1, day=min(time.day, last))


def moved(times, kind, interval):
    """What an engine makes of times."""
    query = eddy.sql(f"SELECT t + INTERVAL '{interval}' AS z FROM A", {"A": {"t": kind}})
    return eddy.Eddy(query).push("A", {"t": times}).to_pydict()["z"]


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_months_are_those_of_the_calendar(unit):
    """In every unit, before and after 1970, forwards and backwards."""
    pick = random.Random(unit)
    times = [
        datetime.datetime(1900, 1, 31) + datetime.timedelta(seconds=pick.randrange(10**10))
        for _ in range(200)
    ]
    for months in (1, -1, 12, -13, 25, 1200 if unit == "s" else 3):
        expected = [later(time, months) for time in times]
        assert moved([*times, None], f"timestamp[{unit}]", f"{months} months") == [*expected, None]


def test_months_of_a_zone_are_those_of_its_clock():
    """Midnight stays midnight where summer time begins in between; an hour that is not there is the one after it."""
    berlin = zoneinfo.ZoneInfo("Europe/Berlin")
    times = [
        datetime.datetime(2024, 2, 29, 0, 30, tzinfo=berlin),
        datetime.datetime(2024, 3, 1, 12, tzinfo=berlin),
        datetime.datetime(2024, 1, 31, 2, 30, tzinfo=berlin),
    ]
    found = moved(times, "timestamp[us, Europe/Berlin]", "2 months")
    assert [time.astimezone(berlin) for time in found] == [
        datetime.datetime(2024, 4, 29, 0, 30, tzinfo=berlin),
        datetime.datetime(2024, 5, 1, 12, tzinfo=berlin),
        datetime.datetime(2024, 3, 31, 3, tzinfo=berlin),
    ]


def test_what_64_bits_do_not_hold_is_null():
    """Three hundred years after one that nanoseconds can just count are none."""
    scope = Scope({"A": {"t": column_type("timestamp[ns]")}})
    times = Column(np.array([2**63 - 1, 0, -(2**63) + 1], np.int64))
    found = condition("A.t + INTERVAL '300' YEAR > A.t", scope).evaluate(lambda stream, column: times)
    assert found.valid is not None and found.valid.tolist() == [False, False, True]


def test_what_is_printed_is_read_again():
    """Months of either sign, with days behind them, in brackets where these are needed."""
    scope = Scope({"A": {"t": column_type("timestamp[us]"), "d": column_type("date")}})
    for text, printed in (
        ("A.t - INTERVAL '1 year 2 days' < A.t", "A.t - INTERVAL '12 months' + INTERVAL '-172800 s' < A.t"),
        ("A.d + INTERVAL '1' QUARTER = A.t", "CAST(A.d AS TIMESTAMP_S) + INTERVAL '3 months' = A.t"),
        (
            "A.t - (A.t + INTERVAL '1' MONTH) > INTERVAL '1' DAY",
            "A.t - (A.t + INTERVAL '1 months') > INTERVAL '86400 s'",
        ),
    ):
        node = condition(text, scope)
        assert str(node) == printed
        assert condition(printed, scope) == node


def test_months_are_read_beside_all_else():
    """Years and quarters are months; what is not whole is refused."""
    assert months_and_nanoseconds("1 year 2 quarters 1 month") == (19, 0)
    assert months_and_nanoseconds("-1.5 years 2 s") == (-18, 2 * 10**9)
    with pytest.raises(eddy.QueryError, match="not a whole number of months"):
        months_and_nanoseconds("0.5 months")


def test_a_window_is_of_a_fixed_length():
    """A month is none."""
    with pytest.raises(eddy.QueryError, match="a year has no fixed length; write days or hours"):
        eddy.sql("SELECT t FROM A [RANGE 1 YEAR]", {"A": eddy.Stream({"t": "timestamp"}, time="t")})


def test_months_between_streams_are_tested():
    """A predicate of two streams with months in it is no band, and is exact."""
    kinds = {name: {"ts": "timestamp[s]"} for name in "AB"}
    query = eddy.sql(
        "SELECT A.ts, B.ts AS other FROM A, B WHERE B.ts BETWEEN A.ts AND A.ts + INTERVAL '1' MONTH", kinds
    )
    engine = eddy.Eddy(query)
    first = [datetime.datetime(2024, 1, 31), datetime.datetime(2024, 2, 1)]
    engine.push("A", pa.table({"ts": pa.array(first, pa.timestamp("s"))}))
    later = [datetime.datetime(2024, 2, 29), datetime.datetime(2024, 3, 1), datetime.datetime(2024, 3, 2)]
    found = engine.push("B", pa.table({"ts": pa.array(later, pa.timestamp("s"))})).to_pydict()
    assert list(zip(*found.values(), strict=True)) == [
        (first[0], later[0]),
        (first[1], later[0]),
        (first[1], later[1]),
    ]

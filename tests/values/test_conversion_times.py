"""Times in timestamp columns, from every source, and those that are refused."""

from __future__ import annotations

import datetime as dt
import zoneinfo
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from tests.conversions import NOON, NOON_US, UTC, listed, refused


@pytest.mark.parametrize(
    "values",
    [
        [NOON, None],
        np.array(["2024-01-01T12", "NaT"], "M8[s]"),
        np.array(["2024-01-01T12", "NaT"], "M8[h]"),
        np.array(["2024-01-01T12", "NaT"], "M8[ns]"),
        [np.datetime64("2024-01-01T12", "us"), None],
        [NOON_US, None],
        pa.array([NOON, None], pa.timestamp("ms")),
        np.ma.array([NOON_US, 5], mask=[False, True]),
        np.ma.array(["2024-01-01T12", "1999"], "M8[s]", mask=[False, True]),
    ],
)
def test_timestamps_from_many_sources(values: Any) -> None:
    """Whatever the source's unit, a timestamp is a count of the column's own."""
    assert listed("timestamp[us]", values) == [NOON_US, None]


def test_dates_are_midnights() -> None:
    """A date may enter a column without a zone."""
    day = 86_400 * 10**6
    assert listed("timestamp[us]", [dt.date(1970, 1, 2)]) == [day]
    assert listed("timestamp[us]", np.array(["1970-01-02"], "M8[D]")) == [day]
    refused("timestamp[us, Europe/Berlin]", [dt.date(1970, 1, 2)])


def test_zones() -> None:
    """With a zone, an instant from any zone stays; a time without one is refused, and vice versa."""
    import pandas as pd

    kind = "timestamp[us, Europe/Berlin]"
    stamps = pd.Series(pd.to_datetime(["2024-01-01 07:00", None])).dt.tz_localize("America/New_York")
    assert listed(kind, stamps) == [NOON_US, None]
    assert listed(kind, [NOON.replace(tzinfo=UTC), pd.NaT]) == [NOON_US, None]
    assert listed(kind, [NOON.replace(tzinfo=dt.timezone(dt.timedelta(hours=-1)))]) == [
        NOON_US + 3_600 * 10**6
    ]
    assert listed(kind, np.array(["2024-01-01T12"], "M8[s]")) == [NOON_US]
    assert listed(kind, [NOON_US]) == [NOON_US]
    refused(kind, [NOON], "zone")
    refused(kind, stamps.dt.tz_localize(None), "zone")
    refused("timestamp[us]", stamps, "zone")


AWARE = NOON.replace(tzinfo=UTC)
MIXED = {
    "zones first": [AWARE, NOON],
    "zones last": [NOON, AWARE],
    "zones in the middle": [None, NOON, NOON, AWARE, NOON],
    "dates first": [NOON.date(), NOON],
    "dates last": [NOON, NOON.date()],
    "integers first": [5, NOON],
    "integers last": [AWARE, 5],
}


@pytest.mark.parametrize("what", list(MIXED))
@pytest.mark.parametrize("kind", ["timestamp[us]", "timestamp[ns, Europe/Berlin]"])
def test_times_of_two_makes_are_refused(what: str, kind: str) -> None:
    """Times with a zone, times without, dates and integers do not mix, in any order and any form."""
    import pandas as pd

    values = MIXED[what]
    objects = np.array(values, object)
    stamps = [pd.Timestamp(value) if isinstance(value, dt.datetime) else value for value in values]
    for form in (
        values,
        tuple(values),
        stamps,
        objects,
        np.ma.array([*objects, None], mask=[*[False] * len(values), True]),
        pd.Series(values, dtype=object),
        pd.Series(stamps, dtype=object),
        pd.Index(values, dtype=object),
        pd.Series(values, dtype=object).astype("category"),
    ):
        refused(kind, form, "these values mix .* and .*; give all of them alike")


def test_zones_of_one_column_may_differ() -> None:
    """Instants from several zones are instants, and what is masked has no make."""
    berlin = AWARE.astimezone(zoneinfo.ZoneInfo("Europe/Berlin"))
    assert listed("timestamp[us, UTC]", [AWARE, berlin, None]) == [NOON_US, NOON_US, None]
    masked = np.ma.array(np.array([AWARE, NOON], object), mask=[False, True])
    assert listed("timestamp[us, UTC]", masked) == [NOON_US, None]


def test_nanoseconds_of_pandas_timestamps() -> None:
    """A Timestamp in a list enters with its nanoseconds, or not at all."""
    import pandas as pd

    stamp = pd.Timestamp(NOON_US * 1000 + 1)
    for values in ([stamp, NOON, None], np.array([stamp, NOON, pd.NaT], object)):
        assert listed("timestamp[ns]", values) == [NOON_US * 1000 + 1, NOON_US * 1000, None]
        refused("timestamp[us]", values, "lose")
    zoned = [stamp.tz_localize("Europe/Berlin"), AWARE]
    assert listed("timestamp[ns, UTC]", zoned) == [NOON_US * 1000 + 1 - 3_600 * 10**9, NOON_US * 1000]
    refused("timestamp[ns]", zoned, "zone")


def test_timestamps_that_do_not_fit() -> None:
    """Precision is not lost, ranges are not left, and text is not parsed."""
    assert listed("timestamp[us]", np.array([5_000], "M8[ns]")) == [5]
    refused("timestamp[us]", np.array([5_001], "M8[ns]"), "lose")
    refused("timestamp[ns]", np.array(["3000-01-01"], "M8[s]"))
    refused("timestamp[ns]", np.array([5], "M8[ps]"), "finer")
    for values in ([1.5], ["2024-01-01"], [True], np.array([5], "m8[s]")):
        refused("timestamp[us]", values)
    refused("int64", [NOON])
    refused("int64", np.array([5], "M8[us]"))

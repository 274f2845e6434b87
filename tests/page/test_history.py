"""The history of a page: bounded, and nothing in it is lost when stretches of time become one."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from eddy.page.history import History, Point
from eddy.page.plain import as_json


@given(st.lists(st.integers(0, 100), max_size=200), st.sampled_from([2, 4, 10]))
def test_stretches_are_merged_and_sums_stay(events, most):
    """However many come, there are at most so many points, in order, and rows and seconds add up to what was given."""
    history, at = History(most), 0.0
    for count in events:
        at += 1 + count % 3
        history.add(Point(at, 1 + count % 3, count, 2 * count, 1, 0.5, count))
    points = history.points
    assert len(points) <= most
    assert sum(point.events for point in points) == sum(events)
    assert sum(point.results for point in points) == 2 * sum(events)
    assert sum(point.batches for point in points) == len(events)
    assert sum(point.seconds for point in points) == at
    assert max((point.bytes for point in points), default=0) == max(events, default=0)
    ends = [point.until for point in points]
    assert ends == sorted(ends) and (not ends or ends[-1] == at)
    columns = history.columns()
    assert {len(values) for values in columns.values()} == {len(points) + bool(points)}
    assert all(values[:1] == values[1:2] for name, values in columns.items() if name != "t")


def test_one_stretch_is_a_line_and_a_short_one_is_added_to_its_neighbour():
    """A history begins where its first stretch does; what is too short for a rate of its own counts with what was
    before it."""
    history = History()
    history.lengthen(Point(2.0, 2.0, 100, 10, 4, 0.5, 7))
    assert history.columns() == {
        "t": [0.0, 2.0], "events": [50.0, 50.0], "results": [5.0, 5.0], "latency": [125.0, 125.0], "bytes": [7, 7],
    }  # fmt: skip
    history.lengthen(Point(2.5, 0.5, 0, 0, 0, 0.0, 9))
    assert history.columns()["t"] == [0.0, 2.5] and history.columns()["events"] == [40.0, 40.0]
    assert history.columns()["bytes"] == [9, 9]


def test_points_are_as_long_as_each_other():
    """All but the last stand for as many readings: neither the beginning nor the end is drawn coarser."""
    history = History(8)
    for i in range(100):
        history.add(Point(float(i + 1), 1.0, 1, 0, 1, 0.0, 0))
    assert len({point.seconds for point in history.points[:-1]}) == 1
    assert 4 <= len(history.points) <= 8


def test_numbers_that_are_none_are_null():
    """A browser refuses NaN and Infinity: a page with one would stay empty."""
    told = json.loads(
        as_json({"a": [1.5, float("nan"), (float("inf"), 2)], "b": {"c": float("-inf")}, "d": object})
    )
    assert told["a"] == [1.5, None, [None, 2]] and told["b"] == {"c": None} and "object" in told["d"]

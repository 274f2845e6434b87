"""Black boxes in Python for the tests: a log of pushes, and the median of the last results of an engine."""

from __future__ import annotations

import statistics

import eddy


def query_of(window, names="ABC"):
    """A join on k over streams with a time."""
    streams = {name: eddy.Stream(dict.fromkeys(("ts", "k", "v"), "int64"), window=window) for name in names}
    return eddy.Query(streams, where=[f"A.k = {name}.k" for name in names[1:]])


class Log:
    """A box that remembers what it was given, and says how much that was."""

    def __init__(self):
        self.taken, self.closed = [], 0

    def push_all(self, batches):
        """How many batches came."""
        self.taken.append(batches)
        return len(batches)

    def close(self):
        """Count how often this is called."""
        self.closed += 1


class Median:
    """For each time at which results come, the median of their values over the last ``width``, by result times.

    A result counts whether or not its rows are still live, so rows count for ``width`` longer than their windows.
    """

    def __init__(self, query, plan, width):
        self.engine = eddy.Eddy(query, plan=plan)
        self.width = width
        self.results = []
        self.closed = False

    def push_all(self, batches):
        """Pairs of a time and a median."""
        found = timed_values(self.engine.push_all(batches))
        self.results += found
        times = sorted({time for time, _ in found})
        given = [(time, median_at(self.results, time, self.width)) for time in times]
        if times:
            self.results = [result for result in self.results if result[0] >= times[-1] - self.width]
        return given

    def close(self):
        """Take nothing more."""
        self.closed = True


def timed_values(result, time=".ts"):
    """Each result as its time and its value: the latest time, and the sum of v, over its rows."""
    columns = result.to_pydict()
    times = zip(*[columns[name] for name in columns if name.endswith(time)], strict=True)
    values = zip(*[columns[name] for name in columns if name.endswith(".v")], strict=True)
    return [(max(time), sum(value)) for time, value in zip(times, values, strict=True)]


def median_at(results, time, width):
    """The median of the results of the ``width`` before a time."""
    return statistics.median(value for when, value in results if time - width <= when <= time)

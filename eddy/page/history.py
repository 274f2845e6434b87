"""Points of time, as many as a page can show: when there are too many, each two neighbours become one."""

from __future__ import annotations

from typing import Any

from attrs import define, field

MOST = 1_200
"""Points that are kept, at most: an even number."""


@define
class Point:
    """A stretch of time and what went on in it."""

    until: float
    """Its end, in seconds since the beginning."""
    seconds: float
    """How long it is."""
    events: int
    results: int
    batches: int
    busy: float
    """Seconds spent on batches."""
    bytes: int
    """What was held, at most."""

    def with_next(self, other: Point) -> Point:
        """This stretch and the one behind it."""
        return Point(
            other.until,
            self.seconds + other.seconds,
            self.events + other.events,
            self.results + other.results,
            self.batches + other.batches,
            self.busy + other.busy,
            max(self.bytes, other.bytes),
        )


@define
class History:
    """The stretches of time so far. A new one is added to the last until that is as long as all others."""

    most: int = MOST
    points: list[Point] = field(factory=list)
    _each: int = 1
    """Stretches that were given and make one."""
    _open: int = 0
    """Of how many the last one is."""

    def add(self, point: Point) -> None:
        """The next stretch."""
        if self._open and self._open < self._each:
            self.points[-1] = self.points[-1].with_next(point)
            self._open += 1
            return
        if len(self.points) == self.most:
            pairs = zip(self.points[::2], self.points[1::2], strict=True)
            self.points = [one.with_next(other) for one, other in pairs]
            self._each *= 2
        self.points.append(point)
        self._open = 1

    def lengthen(self, point: Point) -> None:
        """A stretch that is too short for a point of its own: it is added to the last one, if there is one."""
        if self.points:
            self.points[-1] = self.points[-1].with_next(point)
        else:
            self.add(point)

    def columns(self) -> dict[str, list[Any]]:
        """As a page draws them: rates in rows a second, milliseconds of a batch, bytes. What is known of the first
        stretch is said of its beginning too, so that even one stretch is a line."""
        points = [point for point in self.points if point.seconds > 0]
        begin = [round(points[0].until - points[0].seconds, 3)] if points else []
        points = points[:1] + points
        return {
            "t": begin + [round(point.until, 3) for point in points[1:]],
            "events": [round(point.events / point.seconds, 1) for point in points],
            "results": [round(point.results / point.seconds, 1) for point in points],
            "latency": [
                round(1e3 * point.busy / point.batches, 4) if point.batches else None for point in points
            ],
            "bytes": [point.bytes for point in points],
        }

"""The watermark: up to which time all rows are there, as far as lateness, promises and silence tell.

Times are plain integers of Python, in the query's unit: a time less its lateness may be out of the range of 64 bits.
"""

from __future__ import annotations

from collections.abc import Mapping

from attrs import frozen

NEVER = -(2**63)
"""Before all times: nothing is known of a stream, or nothing has passed."""
LAST = 2**62
"""After all times, in the unit of the query: what a source that has ended promises."""


@frozen
class Watermarks:
    """What is known of the streams, static ones aside; the values are those of each by its number.

    A row at the watermark is not late, and waits: another of the same time may have to go before it.
    """

    newest: dict[int, int]
    """The newest time seen."""
    promised: dict[int, int]
    """The time before which nothing comes any more, by `Eddy.advance`."""
    heard: dict[int, float]
    """When a row or a promise came last, by the clock."""
    at: int = NEVER
    """The watermark. It never goes back."""

    @staticmethod
    def beginning(streams: list[int], now: float) -> Watermarks:
        """Of streams of which nothing was seen yet."""
        return Watermarks(
            dict.fromkeys(streams, NEVER), dict.fromkeys(streams, NEVER), dict.fromkeys(streams, now)
        )

    def seen(self, newest: Mapping[int, int], now: float) -> Watermarks:
        """After rows of some streams, of which the newest have these times. The watermark stays until `moved`."""
        times = {s: max(self.newest[s], time) for s, time in newest.items()}
        heard = {**self.heard, **dict.fromkeys(newest, now)}
        return Watermarks({**self.newest, **times}, self.promised, heard, self.at)

    def told(self, streams: list[int], time: int, now: float) -> Watermarks:
        """After the promise that nothing older than ``time`` comes of these streams."""
        times = {s: max(self.promised[s], time) for s in streams}
        heard = {**self.heard, **dict.fromkeys(streams, now)}
        return Watermarks(self.newest, {**self.promised, **times}, heard, self.at)

    def moved(self, bounds: tuple[int, ...], idle: float | None, now: float) -> Watermarks:
        """With the watermark where it belongs: the smallest, over the streams that count, of what each has reached.

        A stream that was silent for ``idle`` seconds does not count. Where none counts, the furthest decides.
        """
        reached = self.reached(bounds)
        counting = [time for s, time in reached.items() if idle is None or now - self.heard[s] < idle] or [
            max(reached.values())
        ]
        return self.passed(min(counting))

    def reached(self, bounds: tuple[int, ...]) -> dict[int, int]:
        """Up to which time all rows of each stream are there: its newest less its lateness, or what was promised."""
        return {s: max(time - bounds[s], self.promised[s], NEVER) for s, time in self.newest.items()}

    def passed(self, time: int) -> Watermarks:
        """With the watermark at a time, or where it is if that is later."""
        return self if time <= self.at else Watermarks(self.newest, self.promised, self.heard, time)

"""When a row arrived and when it left its window, as closely as is still known."""

from __future__ import annotations

from typing import NamedTuple

from attrs import define, field

from eddy.inspect.evidence import Evidence
from eddy.inspect.history import History, Stretch
from eddy.intake.lowwater_kernels import RANGE, ROWS, SLIDING, TUMBLING_ROWS, UNBOUNDED
from eddy.query.query import Query

LONG_AGO = -(1 << 62)
"""Earlier than any event that has a number: a row may come from before a restart."""


class Span(NamedTuple):
    """Events of which one is meant, first and last included."""

    first: int
    last: int

    @property
    def exact(self) -> bool:
        """Whether there is but one."""
        return self.first == self.last


@define(eq=False)
class Lifetimes:
    """Answers about single rows that have arrived. What happened before `begin` is one span, `before`."""

    query: Query
    history: History
    begin: Stretch
    """Where the history begins."""
    now: Stretch
    """How things stand."""
    evidence: Evidence
    _kinds: list[int] = field(init=False)
    _params: list[int] = field(init=False)
    _steps: list[int] = field(init=False)

    def __attrs_post_init__(self) -> None:
        kinds, params = self.query.window_table()
        self._kinds, self._params = kinds.tolist(), params.tolist()
        self._steps = self.query.window_steps().tolist()

    @property
    def before(self) -> Span:
        """Every event before the history."""
        return Span(LONG_AGO, self.begin.event - 1)

    def arrival(self, stream: int, row: int) -> Span:
        """The event that brought the row."""
        event = self.history.event_of(stream, row)
        return self.before if event is None else Span(event, event)

    def death(self, stream: int, row: int) -> Span | None:
        """The event at which the row was outside its window for the first time; None while it is live."""
        kind, size = self._kinds[stream], self._params[stream]
        if row >= self.now.lows[stream] or kind == UNBOUNDED:
            return None
        if row < self.begin.lows[stream]:
            return self.before
        if kind == ROWS:
            return self.arrival(stream, row + size)
        if kind == TUMBLING_ROWS:
            # A low-water row begins a pane, so all panes can be told from the present one.
            return self.arrival(stream, row + size - (row - self.now.lows[stream]) % size)
        time = self.time(stream, row)
        if time is None:
            return Span(*self.history.passing(stream, row) or self.before)
        if kind == SLIDING:
            step = self._steps[stream]
            last = (time + size) // step * step + step - 1
        else:
            last = time + size if kind == RANGE else time // size * size + size - 1
        event = self.history.first_later(last)
        return Span(event, event)

    def time(self, stream: int, row: int) -> int | None:
        """The time of the row, where a window uses time and it is still known."""
        event = self.history.event_of(stream, row)
        return self.evidence.time(self.query.names[stream]) if event is None else self.history.time(event)

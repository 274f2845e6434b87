"""Events for `logging`: each has a name that stays, values that a program can read, and a period if there may be many.

A record has the name as ``record.event`` and each value as an attribute of its own. The logger is `eddy.run` for what
happens in a run, and `eddy` for engines that are pushed by hand.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import Any

from attrs import define, field, frozen

ENGINE, RUN = "eddy", "eddy.run"
"""The loggers."""

logging.getLogger(ENGINE).addHandler(logging.NullHandler())  # who wants to read it says so


@frozen
class Event:
    """What can be told."""

    level: int
    message: str
    """Its words; its values are those that stand in it, and no others."""
    period: float = 0.0
    """Seconds between two of them, at least. What comes sooner is counted, and told with the next one."""


EVENTS = {
    "plan changed": Event(logging.INFO, "the plan changed from %(former)s to %(plan)s"),
    "late rows": Event(logging.WARNING, "%(rows)d rows came late: %(streams)s", 1.0),
    "dead letters": Event(logging.WARNING, "%(rows)d rows are left out: %(streams)s; %(first)s", 1.0),
    "checkpoint": Event(logging.INFO, "checkpoint %(number)d in %(seconds).3f s"),
    "restarted": Event(logging.INFO, "restarted at checkpoint %(checkpoint)d"),
    "memory budget reached": Event(
        logging.INFO, "the memory budget of %(budget)d bytes was reached: %(keys)d keys were made holes", 60.0
    ),
    "memory budget cannot be kept": Event(
        logging.WARNING,
        "the memory budget of %(budget)d bytes cannot be kept: %(bytes)d bytes are held, and the rows in the windows "
        "stay, whatever they take",
        60.0,
    ),
    "source idle": Event(logging.WARNING, "%(source)s, stream %(stream)s, is silent for %(seconds).1f s"),
    "source ended": Event(logging.INFO, "%(source)s, stream %(stream)s, has ended after %(rows)d rows"),
    "source appeared": Event(logging.INFO, "%(source)s, stream %(stream)s, is there now"),
    "server away": Event(logging.WARNING, "%(server)s is away: %(error)s"),
    "server back": Event(logging.INFO, "%(server)s is back after %(seconds).1f s"),
}
"""All of them, by name."""


@define(eq=False)
class Log:
    """Tells events to one logger."""

    name: str = ENGINE
    clock: Callable[[], float] = time.monotonic
    muted: bool = False
    """Whether nothing is told, as of a part of an engine."""
    _due: dict[str, float] = field(init=False, factory=dict)
    """When an event may be told again."""
    _counts: dict[str, dict[str, int]] = field(init=False, factory=dict)
    """What was counted since an event was told, by stream."""
    _more: dict[str, dict[str, Any]] = field(init=False, factory=dict)

    def tell(self, event: str, **values: Any) -> None:
        """An event with its values. Of one with a period, those that come too soon are passed over."""
        what = EVENTS[event]
        if self.muted:
            return
        if what.period:
            now = self.clock()
            if now < self._due.get(event, now):
                return
            self._due[event] = now + what.period
        logger = logging.getLogger(self.name)
        if logger.isEnabledFor(what.level):
            logger.log(what.level, what.message, values, extra={"event": event, **values})

    def count(self, event: str, stream: str, rows: int, **first: Any) -> None:
        """Some rows of a stream: told at once, or together with others when the event's period is over."""
        counts = self._counts.setdefault(event, {})
        counts[stream] = counts.get(stream, 0) + rows
        self._more.setdefault(event, first)
        if self.clock() >= self._due.get(event, 0.0):
            self._tell_counted(event)

    def flush(self, last: bool = False) -> None:
        """Tell what was counted and is due; ``last``: all of it."""
        for event in list(self._counts):
            if last or self.clock() >= self._due.get(event, 0.0):
                self._tell_counted(event)

    def _tell_counted(self, event: str) -> None:
        counts, more = self._counts.pop(event), self._more.pop(event)
        self._due.pop(event, None)
        self.tell(event, rows=sum(counts.values()), streams=counts, **more)

"""One black box in use, and changes to others."""

from __future__ import annotations

import copy
import time
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any, Generic, TypeVar

from eddy.boxes.change import BoxChange, BoxMigration, UserBox, check_box, close
from eddy.boxes.history import History, Pushed
from eddy.errors import EddyError, PolicyWarning, QueryError, StateError
from eddy.faults import warn
from eddy.query.stream import Stream
from eddy.query.windows import Range, Tumbling
from eddy.shown import shown
from policies import Ghm, Migration

R = TypeVar("R")

LOGGED = 64
"""Changes that are remembered when they are over."""


class Boxes(Generic[R]):
    """Runs a black box, any object with ``push_all(batches)``, and changes to another one while it runs.

    A box must depend on no other rows than those that are live in the windows of ``streams`` (a query's are
    ``query.streams``). That is so where a result lives as long as its rows: in an `Eddy`, with or without aggregates.
    ``above=Range(w)`` is for an operator on top that looks back at all results of the last w by their times, whether or
    not their rows are still live: then rows count for so much longer.

    ``migration`` is how a change is made: `policies.Gms`, `Gpt` or `Ghm`, which is the default, or a technique of your
    own that does with `Change.box` and `Change.swap`. Results are those of a box that is never changed, push by push.
    Not for several threads at once.
    """

    def __init__(
        self,
        box: UserBox[R],
        streams: Mapping[str, Stream],
        above: Range | None = None,
        migration: Migration | None = None,
    ) -> None:
        check_box("what Boxes was given", box)
        _check(streams, above, migration)
        self._box = box
        self._history = History.of(dict(streams), above)
        self._technique = Ghm() if migration is None else copy.deepcopy(migration)
        self._change: BoxChange[R] | None = None
        self._log: deque[BoxMigration] = deque(maxlen=LOGGED)
        self._events = self._pushes = 0
        self._torn = False
        """Whether the box in use may have taken rows of which there is no copy."""

    # -- pushes ----------------------------------------------------------------------------------------------------

    def push(self, stream: str, batch: Any) -> R:
        """Rows of one stream arrive; returns what the box in use makes of them."""
        return self.push_all({stream: batch})

    def push_all(self, batches: Mapping[str, Any]) -> R:
        """Rows of several streams arrive together; returns what the box in use makes of them.

        Where a window uses time, times never go back. If the box refuses the push, by raising an error, it is as if it
        had not been made. A batch is anything that has its columns by name, in the form that the box takes.
        """
        if not isinstance(batches, Mapping):
            raise EddyError(f"push_all takes a dict of stream name to batch, not {type(batches).__name__}")
        reading = self._history.read(batches)
        pushed = Pushed.of(batches, reading)
        try:
            result = self._box.push_all(batches)
        except Exception:
            raise
        except (
            BaseException
        ) as error:  # a signal, for one: it is not known whether the box has taken the rows
            self._torn = True
            if self._change is not None:
                self._give_up(self._change, error)
            raise
        self._history.take(pushed, reading)
        self._events += pushed.events
        self._pushes += 1
        if self._change is not None:
            self._change.feed(pushed, self._events)
            self._go_on(self._change)
        return result

    # -- changes ---------------------------------------------------------------------------------------------------

    def migrate(self, make: Callable[[], UserBox[R]]) -> None:
        """Change to the box that ``make()`` makes: a new one, which has seen no row.

        It may be asked again, where a technique has to start anew. A change during a change starts anew, too: what the
        first one has made is let go. Where ``make``, or the new box in `Gms`, raises an error, all is as it was.
        """
        if hasattr(make, "push_all") and not isinstance(make, type):
            raise EddyError(
                f"migrate takes a function that makes the new box, not the box: lambda: {type(make).__name__}(...)"
            )
        if not callable(make):
            raise EddyError(f"migrate takes a function that makes the new box, not {shown(make)}")
        if self._torn:
            raise StateError(
                "a push was interrupted, and the box in use may have taken its rows or not: another could not be given "
                "the same. Make new Boxes, and push what counts again"
            )
        former = self._change
        since = (self._events, self._history.rows) if former is None else former.since
        name, batch = type(self._technique).__name__, self._events / max(1, self._pushes)
        change = BoxChange(name, self._events, make, self._history, batch, since)
        try:
            self._pump(change, self._technique.begin)
            if change.adopted is None and not change.running:
                change.finish()  # the technique has left it undone
        except BaseException:
            change.let_go()
            raise
        if former is not None:
            self._end(former)
        self._change = change
        self._adopt(change)

    def settle(self) -> None:
        """Finish a change now: rows that the new box lacks are replayed, and it takes over. Otherwise does nothing."""
        change = self._change
        if change is not None:
            try:
                self._pump(change, lambda change: change.finish())
            except BaseException as error:
                self._give_up(change, error)
                raise
            self._adopt(change)

    @property
    def box(self) -> UserBox[R]:
        """The box whose results are given."""
        return self._box

    @property
    def migrating(self) -> bool:
        """Whether a change is under way."""
        return self._change is not None

    @property
    def history(self) -> tuple[BoxMigration, ...]:
        """The last changes, oldest first: 64 that are over, and the one that is under way."""
        return (*self._log, *(() if self._change is None else (self._change.statistics(),)))

    @property
    def remembered(self) -> int:
        """Rows that results to come depend on, of which there are copies."""
        return self._history.rows

    def _go_on(self, change: BoxChange[R]) -> None:
        """Let the technique go on. The results of the push are safe: an error ends the change, not the push."""
        try:
            self._pump(change, self._technique.work)
        except Exception as error:
            self._give_up(change, error)
            warning = PolicyWarning(
                f"the change to another box was given up: {change.fault}. The box in use goes on, and nothing is lost"
            )
            warning.__cause__ = error
            warn(warning)
            return
        except BaseException as error:  # the new box may have stopped in the middle of a push
            self._give_up(change, error)
            raise
        self._adopt(change)

    def _pump(self, change: BoxChange[R], step: Callable[[BoxChange[R]], None]) -> None:
        start = time.perf_counter()
        step(change)
        change.seconds += time.perf_counter() - start
        change.see()

    def _adopt(self, change: BoxChange[R]) -> None:
        """Let the new box take over, if it is to."""
        if change.adopted is not None:
            former, self._box = self._box, change.adopted
            change.ended = self._events
            self._end(change)
            close(former)

    def _give_up(self, change: BoxChange[R], error: BaseException) -> None:
        change.fault = f"{type(error).__name__}: {error}"
        self._end(change)

    def _end(self, change: BoxChange[R]) -> None:
        """Nothing is left of a change but the record."""
        change.let_go()
        self._log.append(change.statistics())
        self._change = None

    def __repr__(self) -> str:
        return f"<Boxes {shown(self._box)}: {self._events} events>"


def _check(streams: object, above: object, migration: object) -> None:
    if (
        not isinstance(streams, Mapping)
        or not all(isinstance(s, Stream) for s in streams.values())
        or not streams
    ):
        raise QueryError(
            f"Boxes needs the streams as a dict of names and Streams, such as query.streams, not {shown(streams)}"
        )
    for name, stream in streams.items():
        if isinstance(stream.window, Tumbling) and stream.window.rows is not None:
            raise QueryError(
                f"the window of {name} is {stream.window}, whose panes are counted from the first row ever, which a "
                "new box does not see: use Rows, Range or Tumbling(time=...)"
            )
    if above is not None and not isinstance(above, Range):
        raise QueryError(
            f"above is how far an operator looks back at results, as Range('5 minutes'), not {shown(above)}"
        )
    if migration is not None and not isinstance(migration, Migration):
        raise EddyError(f"migration is a technique: Gms(), Gpt() or Ghm(), not {shown(migration)}")

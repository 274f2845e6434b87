"""Commits: what was written counts together with the positions of the sources and the engine.

A commit is begun between two pushes: sinks `prepare`, and a checkpoint is taken as everything is then. The run goes on
while the checkpoint is written; results that come meanwhile belong to the next commit. When it is written, sinks
`commit`.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from typing import Any

from attrs import define, field, frozen

from eddy.engine.eddy import Eddy
from eddy.query.query import Query
from eddy.running.checkpoints import Checkpoints
from eddy.running.options import Options
from eddy.sinks.base import Sink
from eddy.sinks.queued import Queued

MOST = 1 << 28
"""Bytes of results that may wait for the end of a commit."""


@frozen
class Commit:
    """One that is over."""

    number: int | None
    """Of its checkpoint; None without."""
    seconds: float
    state: dict[str, Any]
    """What its manifest keeps."""
    last: bool
    """Whether the run has finished."""


State = Callable[[], dict[str, Any]]
"""What a manifest keeps, but for the tokens of sinks."""


@define(eq=False)
class Commits:
    """Those of one run; without ``checkpoints`` what was written counts at once."""

    query: Query | Mapping[str, Query]
    """Or several, by name."""
    options: Options
    checkpoints: Checkpoints | None
    state: State
    committed: Callable[[Commit], None]
    _due: float = field(init=False, default=0.0)
    _written: Future[int] | None = field(init=False, default=None)
    """The checkpoint that is being written."""
    _tokens: dict[str, Any] = field(init=False, factory=dict)
    _kept: dict[str, Any] = field(init=False, factory=dict)
    """What the state was when the commit was begun."""
    _last: bool = field(init=False, default=False)
    _began: float = field(init=False, default=0.0)
    _held: str = field(init=False, default="")
    """What the last commit was of."""
    _same: int = field(init=False, default=0)
    """How many commits before it were of the same."""

    def __attrs_post_init__(self) -> None:
        self._due = time.monotonic() + self.options.every

    def after_push(self, engine: Eddy, more: bool) -> None:
        """The results of a push are written: commit if it is time, unless there is not ``more`` to come."""
        if self._written is not None and (self._written.done() or self._waiting > MOST):
            self.wait()
        if not more:
            return
        due = self._written is None and time.monotonic() >= self._due
        if self.checkpoints is not None and (self.options.every or due):
            due = self.checkpoints.follow(engine, bool(self.options.every)) and due
        if due and self._stands(engine):
            self._due, due = time.monotonic() + self.options.every, False
        if due:
            self.begin(engine)
            self._due = self._began + self.options.every
            if not self.options.every:
                self.wait()

    def _stands(self, engine: Eddy) -> bool:
        """Whether the last two checkpoints are of all that another one would be of, as where sources are silent.

        Two, since sources keep what lies behind the one before the last.
        """
        if self.checkpoints is None:
            return False
        found = engine.statistics()
        streams = [(one.rows, one.live, one.waiting, one.watermark) for one in found.streams]
        held = json.dumps([self.state(), found.watermark, streams], default=str)
        self._same, self._held = self._same + 1 if held == self._held else 0, held
        return self._same > 1

    def now(self, engine: Eddy | None) -> None:
        """Commit all that was written so far; None for the engine of a run that has finished."""
        self.wait()
        self.begin(engine)
        self.wait()

    def begin(self, engine: Eddy | None) -> None:
        """The first step."""
        self._began, self._last = time.monotonic(), engine is None
        sinks, self._kept = self.options.sinks, self.state()
        tokens = self._tokens = {what: sink.prepare() for what, sink in sinks.items()}
        if self.checkpoints is None:
            self._secure(sinks)
            self._commit(sinks)
            self._tell(None)
            return
        self._secure(self._of(False))
        aside, parts = self._of(True), {"tokens": tokens, **self._kept}
        self._written = self.checkpoints.begin(
            engine, self.query, parts, lambda: self._secure(aside), lambda: self._commit(aside)
        )

    def wait(self) -> None:
        """The last step of the commit that was begun, if there is one, as soon as that can be."""
        if self._written is None:
            return
        number = self._written.result()
        self._written = None
        self._commit(self._of(False))
        self._tell(number)

    def _tell(self, number: int | None) -> None:
        self.committed(Commit(number, time.monotonic() - self._began, self._kept, self._last))

    def end(self) -> None:
        """The run ends with an error: nobody writes any longer when this returns."""
        if self._written is not None:
            self._written.exception()

    @property
    def _waiting(self) -> int:
        return sum(sink.bytes for sink in self.options.sinks.values() if isinstance(sink, Queued))

    def _of(self, overlaps: bool) -> dict[str, Sink]:
        """The sinks that can, or cannot, be written to while they commit."""
        return {what: sink for what, sink in self.options.sinks.items() if sink.overlaps == overlaps}

    def _secure(self, sinks: dict[str, Sink]) -> None:
        for what, sink in sinks.items():
            sink.secure(self._tokens[what])

    def _commit(self, sinks: dict[str, Sink]) -> None:
        for what, sink in sinks.items():
            sink.commit(self._tokens[what])

"""What feedback asks of the router whose rows may wait."""

from __future__ import annotations

from typing import Protocol

from eddy.plan.compiler import Compiler
from eddy.store.stream import StreamState
from eddy.tracks.binding import Binder
from eddy.tracks.moment import Moment
from eddy.tracks.prober import Prober
from eddy.tracks.track import Track
from stairs import Stair


class Host(Protocol):
    """A router. It lets the suspension know when batches begin, are stored and are over, and when plans change."""

    compiler: Compiler
    streams: list[StreamState]
    binder: Binder
    moment: Moment
    prober: Prober

    @property
    def tracks(self) -> list[Track]:
        """Those that run, the oldest first; the last one has the current plan."""

    @property
    def alone(self) -> bool:
        """Whether one plan runs, which sees all rows and makes all results: only then does anything wait."""

    @property
    def every_stair(self) -> list[Stair]:
        """The STAIRs of all tracks."""

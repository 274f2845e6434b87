"""What an engine tells about itself: frozen values."""

from __future__ import annotations

from attrs import frozen


@frozen
class StreamStatistics:
    """One stream."""

    name: str
    rows: int
    """Rows that have arrived."""
    live: int
    """Rows inside the window."""
    bytes: int
    """Payload, leaf STAIRs and sorted indexes, slack included."""


@frozen
class StairStatistics:
    """One STAIR of composites."""

    name: str
    """For example "A B by x"."""
    streams: tuple[str, ...]
    live: int
    """Composites inside their windows."""
    bytes: int
    complete: bool
    """No hole is left."""
    fraction: float
    """How far the rows from before the plan change have been dealt with: 1.0 when complete."""
    keys_filled: int
    """Holes filled since the STAIR was made."""
    holes: int
    """Keys known to be holes; keys that nobody touched since the plan change are not counted."""


@frozen
class Statistics:
    """One engine."""

    plan: str
    events: int
    results: int
    migrations: int
    keys_filled: int
    composites_filled: int
    """Composites built to fill holes."""
    bytes: int
    streams: tuple[StreamStatistics, ...]
    stairs: tuple[StairStatistics, ...]

    @property
    def complete(self) -> bool:
        """Every STAIR is complete."""
        return all(stair.complete for stair in self.stairs)

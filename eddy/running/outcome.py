"""What a run tells: while it goes on, and when it is over."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
from attrs import field, frozen

from eddy.errors import EddyError
from eddy.running.gathered import RESULTS, results_of
from eddy.several.results import QUERY

if TYPE_CHECKING:
    import pandas
    import polars


@frozen
class Resumed:
    """A checkpoint that a run went on from."""

    folder: str
    taken: str
    """When, by the clock of this machine."""
    results: int
    """Rows that had been given."""


@frozen
class Progress:
    """A run at one moment. What is by stream is a dict."""

    seconds: float
    """Since it began."""
    rows: dict[str, int]
    """Rows that were pushed, those before a restart included."""
    results: int
    bad: dict[str, int]
    """Rows that were no rows."""
    late: dict[str, int]
    newest: dict[str, Any]
    """The newest time that was read, as a text; None where there is none."""
    waiting: dict[str, int]
    """Rows that wait for the watermark."""
    behind: dict[str, int]
    """By how much each stream's newest time is behind that of the furthest, in the query's unit of time."""
    plan: str
    changes: int
    """Changes of plan."""
    bytes: int
    """What the engine holds."""
    checkpoints: int
    done: float | None
    """The part of the sources that was read, from 0 to 1, where that is known."""
    watermark: str | None = None
    """The time that has passed for all streams, as a text; None where nobody looks at times."""
    lag: dict[str, str] = field(factory=dict)
    """``behind`` as a text: in seconds, where times are timestamps."""
    states: dict[str, str] = field(factory=dict)
    """What each source is doing: "reading", "idle", "not there yet" or "ended"."""
    memory: int | None = None
    """The memory budget; where ``bytes`` are more for long, it cannot be kept."""
    metrics: str | None = None
    """Where Prometheus finds metrics."""
    page: str | None = None
    """Where the live page is."""
    ended: bool = False
    resumed: Resumed | None = None
    """What it went on from, after a restart."""


@frozen
class Outcome:
    """What came of a run."""

    results: int
    """Rows that were given."""
    rows: dict[str, int]
    """Rows of each stream."""
    bad: dict[str, int]
    """Rows of each stream that were no rows, and were left out."""
    late: dict[str, int]
    """Rows of each stream that came behind the watermark, and were left out."""
    letters: tuple[str, ...]
    """The first of these, each with its reason and its place."""
    lateness: dict[str, Any] | None
    """What rows may have come out of order by; None if the engine had no buffer for that."""
    plan: str
    changes: int
    checkpoints: int
    seconds: float
    ended: str
    """Why it ended: "end" of the sources, "limit", or "stopped"; "over" where the run of the checkpoint was over
    already, and nothing was done."""
    _collected: Mapping[str, pa.Table] | None = field(default=None, repr=False)
    counts: dict[str, int] = field(factory=dict)
    """Rows that each of several queries was given."""
    resumed: Resumed | None = None
    """The checkpoint that it went on from, whose results are counted in ``results``."""
    _groups: Mapping[str, pa.Table] | None = field(default=None, repr=False)

    def to_arrow(self, query: str | None = None) -> pa.Table:
        """The results, if they went to no sink; of several queries those of the one that is named."""
        if self._collected is None:
            raise EddyError("the results went to a sink: read them there, or run without one")
        return self._of(self._collected, query, "to_arrow")

    def table(self, query: str | None = None) -> pa.Table:
        """The groups at the end of a run with ``final=True``, whatever its sink; of several queries those of one."""
        if self._groups is None:
            why = {"over": "was over already", "stopped": "was stopped before its end"}.get(self.ended)
            raise EddyError(
                "table() gives the groups at the end of a run with final=True"
                + ("" if why is None else f", and this one {why}")
            )
        if RESULTS in self._groups and self.counts and query is not None:  # in one sink, with their names
            named = self._groups[RESULTS]
            if query in self.counts:
                return named.filter(pc.equal(named[QUERY], query)).drop_columns([QUERY])
        return self._of(self._groups, query, "table")

    def _of(self, tables: Mapping[str, pa.Table], query: str | None, method: str) -> pa.Table:
        what = RESULTS if query is None else results_of(query)
        if what not in tables:
            if not self.counts:
                raise EddyError(f"there is one query here, which has no name: call {method}()")
            raise EddyError(
                f"say whose results are meant: {method}(name), with the name one of {', '.join(self.counts)}"
            )
        return tables[what]

    def to_pandas(self, query: str | None = None) -> pandas.DataFrame:
        """The results as a data frame."""
        table = self.to_arrow(query)
        try:
            import pandas  # noqa: F401
        except ImportError as error:
            raise EddyError("to_pandas() needs pandas, which is not installed: pip install pandas") from error
        return table.to_pandas()

    def to_polars(self, query: str | None = None) -> polars.DataFrame:
        """The results as a frame of polars."""
        table = self.to_arrow(query)
        try:
            import polars
        except ImportError as error:
            raise EddyError("to_polars() needs polars, which is not installed: pip install polars") from error
        found: Any = polars.from_arrow(table)
        return found

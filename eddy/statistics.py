"""What an engine tells about itself: frozen values."""

from __future__ import annotations

from attrs import field, frozen

from eddy.shown import html_table


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
    waiting: int = 0
    """Rows that wait for the watermark, where they may come out of order."""
    late: int = 0
    """Rows that came behind it."""
    refused: int = field(default=0, eq=False)
    """Rows of batches that were refused, as far as it could be told how many these were. They have changed nothing, so
    statistics that differ in this alone are equal."""
    newest: int | None = field(default=None, eq=False)
    """The newest event time, in the query's unit of time: of the rows that came, or, without `lateness`, of the last
    row. None where there is none, or nobody looks at times, or that row came more than a million events ago."""
    lag: int | None = field(default=None, eq=False)
    """By how much that is behind the newest time of the stream that is furthest."""
    watermark: int | None = field(default=None, eq=False)
    """The time up to which all rows of it are there: the newest less the lateness, or what `advance` has promised.
    Without `lateness` the time of the last row of any stream."""


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
    former: bool = False
    """It belongs to a plan that is being left."""
    partial: bool = False
    """It began empty at a plan change, and the plan that is being left makes what it lacks."""


@frozen
class TrackStatistics:
    """A plan that ran beside another while a migration was under way."""

    plan: str
    rows: dict[str, int]
    """Arrivals of each stream that it processed."""
    results: int
    """Results that it made."""
    entries: int
    """What it still owes: lines of its table of characteristics; for a black box the events that it has to process."""


@frozen
class MigrationStatistics:
    """One plan change."""

    technique: str
    former: str
    plan: str
    begun: int
    """Events before it began."""
    ended: int | None
    """Events before it was done; None while it is under way."""
    begun_at: float = field(eq=False)
    ended_at: float | None = field(eq=False)
    """When, in seconds since 1970."""
    seconds: float = field(eq=False)
    """Time that the technique took for itself, apart from ordinary batches."""
    keys_filled: int
    composites_built: int
    """Composites made to fill holes, or in STAIRs that began empty while another plan was running."""
    results_held: int
    """Results that were held back for some time."""
    longest_gap: int
    """The most events in a row, in whole batches, that brought no result while it was under way."""
    longest_pause: float = field(eq=False)
    """The longest time without output, in seconds, from the change on; time in which nothing was pushed counts too."""
    peak_bytes: int
    """The most that the STAIRs, and a black box, held after any of its batches."""
    tracks: tuple[TrackStatistics, ...]
    """Plans that ran side by side, as they were last."""
    entries_demoted: int = 0
    """Composites of the former plan that the technique has taken apart (`EagerStairs`)."""
    entries_promoted: int = 0
    """Composites that it has put together entry by entry: they are in ``composites_built`` too."""
    predicted: dict[str, float] = field(factory=dict)
    """Seconds that the change was to take under each technique, where `policies.Cheapest` has chosen one of them. What
    all techniques do alike is not in it."""
    evaluations: int = field(default=0, eq=False)
    """As `Statistics.evaluations`, of all plans and black boxes while it was under way: HybMig's measure of work."""
    fallback: str | None = None
    """Why plans did not run side by side although the technique asked for it, so that states were made as `MovingState`
    or `Jisc` makes them: "orderings", "entries", "holes" or "tracks". None if it did as it says."""


@frozen
class EdgeStatistics:
    """Entries of one node of the plan that wait for entries of another, with which they meet higher up."""

    name: str
    """What waits: a stream, or the streams of a STAIR."""
    opposite: str
    """What it waits for."""
    key: str
    """The attributes that must be there, in one entry; "anything" if any entry will do."""
    waiting: int
    """Live entries in the blacklist."""
    suspended: int
    """Entries so far that began to wait here."""
    resumed: int
    """Those that were woken."""
    resting: bool
    """Nothing is judged for the time being, because it did not pay."""


@frozen
class FeedbackStatistics:
    """What feedback has spared. Rows by default: a row that waits for one thing and then for another counts once."""

    policy: str
    suspended: int
    resumed: int
    """Rows that came back since a partner had come, or because the plan was changed."""
    dropped: int
    """Rows that left their window before a partner came, and those that a static relation has no partner for."""
    waiting: int
    composites_suspended: int
    composites_resumed: int
    pairs_suppressed: int
    """Composites that were not stored, since nothing had what both their sides need together."""
    pairs_restored: int
    """Composites that were made since something has come under a key of these."""
    keys_noted: int
    """Keys under which pairs are suppressed now."""
    composites_avoided: int
    """Estimated, for the STAIRs of the current plan. Of two streams: by the rows in the windows that match now, those
    that wait included. Of more: as if rows that wait had as many partners as others."""
    bytes: int
    """What blacklists and directories take."""
    bytes_saved: int
    """Estimated in the same way for the composites that would be live now, in rings half full, less ``bytes``."""
    seconds: float = field(eq=False)
    """Time spent on judging, waking and bringing back."""
    edges: tuple[EdgeStatistics, ...]
    """Of the current plan."""


@frozen
class StepStatistics:
    """One step of the plan that runs, since it runs: entries of some streams probe the STAIR of others."""

    source: tuple[str, ...]
    """Streams of the entries that probe."""
    target: tuple[str, ...]
    """Streams of the STAIR that is probed."""
    probes: int
    matches: int
    seconds: float = field(eq=False)
    """What they take by the cost model that `policies.Auto` goes by: no clock runs in the kernels."""


@frozen
class Statistics:
    """One engine."""

    plan: str
    events: int
    results: int
    """Rows that pushes have returned, withdrawals included."""
    migrations: int
    keys_filled: int
    composites_filled: int
    """Composites built to fill holes."""
    keys_demoted: int
    """Keys that became holes for want of memory."""
    bytes: int
    streams: tuple[StreamStatistics, ...]
    stairs: tuple[StairStatistics, ...]
    history: tuple[MigrationStatistics, ...] = ()
    """The last 64 migrations that are over, oldest first, and then those under way."""
    feedback: FeedbackStatistics | None = None
    """None where the policy never judges anything."""
    fault: str | None = None
    """An error of a migration or feedback policy that the next push is going to raise."""
    candidates: int = 0
    """Rows that were tested as partners where no equality finds them, counted for each row or composite that asked."""
    fallbacks: int = 0
    """Plan changes so far with a `MigrationStatistics.fallback`; with threads, those of each shard."""
    probed: int = 0
    """Entries that probes have looked at, whether they matched or not: what joining takes, whatever the clock says."""
    matched: int = 0
    """Entries that probes have found: the composites and results that were made, in every plan that runs."""

    steps: tuple[StepStatistics, ...] = field(default=(), eq=False)
    """Of the plan that runs; none where there is no join."""
    seconds: float = field(default=0.0, eq=False)
    """Time spent on batches so far."""
    batches: int = field(default=0, eq=False)
    watermark: int | None = field(default=None, eq=False)
    """The time that has passed for all streams, in the query's unit of time; None if nobody looks at times."""
    memory: int | None = None
    """The memory budget, if there is one."""

    def _repr_html_(self) -> str:
        streams = [(s.name, f"{s.rows:,}", f"{s.live:,}", f"{s.bytes:,}", "") for s in self.streams]
        stairs = [
            (
                s.name,
                "",
                f"{s.live:,}",
                f"{s.bytes:,}",
                "complete" if s.complete else f"{s.holes:,} known hole{'' if s.holes == 1 else 's'}",
            )
            for s in self.stairs
        ]
        told = f"plan {self.plan}: {self.events:,} events, {self.results:,} results, {self.bytes:,} bytes"
        return html_table(("", "rows", "live", "bytes", "STAIR"), streams + stairs, told)

    @property
    def over_budget(self) -> int:
        """Bytes that are held beyond the memory budget. A batch may exceed it for a moment; if it stays so, the budget
        cannot be kept: the rows in the windows stay, whatever they take."""
        return 0 if self.memory is None else max(0, self.bytes - self.memory)

    @property
    def evaluations(self) -> int:
        """How often a join predicate was evaluated: for entries that probes looked at, and rows that were tested where
        no equality finds them. One of the latter that passes is looked up, and counts once more."""
        return self.probed + self.candidates

    @property
    def complete(self) -> bool:
        """Every STAIR is complete."""
        return all(stair.complete for stair in self.stairs)

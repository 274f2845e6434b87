"""What the demo shows: a live picture in a terminal, plain lines in a pipe, both of the same moments."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import IO, Protocol

import attrs
from rich.console import Console, Group
from rich.live import Live
from rich.panel import Panel
from rich.progress_bar import ProgressBar
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

WIDTH = 80
BARS = "▁▂▃▄▅▆▇█"


@attrs.frozen
class Stair:
    """A STAIR at one moment: its streams, its live entries, and how far it is filled."""

    streams: Sequence[str]
    entries: int
    filled: float


@attrs.frozen
class Change:
    """One change of plan: when, from what to what, and how long the decision took, in seconds."""

    at: float
    before: str
    after: str
    took: float


@attrs.frozen
class Phase:
    """What the feed is like at a moment: phase ``number`` of ``count``."""

    number: int
    count: int
    title: str


@attrs.frozen
class Pace:
    """How far the run is, and how fast.

    ``busy`` is the engine's own time, without feed, audit and view; ``speeds`` are events a second of it, one
    for each bar of the picture, oldest first; ``marks`` are the bars in which the plan changed.
    """

    elapsed: float
    seconds: float
    busy: float
    events: int
    speeds: Sequence[float]
    marks: Sequence[int]


@attrs.frozen
class Verdict:
    """How many results there were, and what an independent count says of them."""

    results: int
    expected: int
    lost: int
    repeated: int
    wrong: int

    @property
    def clean(self) -> bool:
        return not (self.lost or self.repeated or self.wrong)

    def __str__(self) -> str:
        return f"{self.lost:,} lost, {self.repeated:,} repeated, {self.wrong:,} wrong"


@attrs.frozen
class Moment:
    """All that is shown at one moment."""

    phase: Phase
    pace: Pace
    plan: str
    stairs: Sequence[Stair]
    changes: Sequence[Change]
    bytes: int
    verdict: Verdict


class View(Protocol):
    """Something that shows moments."""

    def show(self, moment: Moment) -> None: ...

    def end(self, moment: Moment) -> None: ...


def millions(rate: float) -> str:
    return f"{rate / 1e6:.2f} M events/s"


def closing(moment: Moment) -> Iterator[str]:
    """The last words, the same in both views."""
    longest = 1e3 * max((change.took for change in moment.changes), default=0.0)
    times = "once" if len(moment.changes) == 1 else f"{len(moment.changes)} times"
    pace, verdict = moment.pace, moment.verdict
    yield f"{pace.events:,} events gave {verdict.results:,} results in {pace.busy:.1f} s of engine time."
    yield f"The plan was changed {times} meanwhile; the longest decision took {longest:.2f} ms."
    yield f"An independent count over the same feed expects {verdict.expected:,} results:"
    yield f"{verdict}."


@attrs.define(eq=False)
class PlainView:
    """A line each second and one for every change: for pipes, logs and dumb terminals. No escape codes."""

    file: IO[str]
    _next: float = attrs.field(init=False, default=0.0)
    _told: int = attrs.field(init=False, default=0)
    _phase: int = attrs.field(init=False, default=0)

    def show(self, moment: Moment) -> None:
        if moment.phase.number != self._phase:
            self._phase = moment.phase.number
            self._say(moment, f"phase {moment.phase.number} of {moment.phase.count}: {moment.phase.title}")
        for change in moment.changes[self._told :]:
            self._say(
                moment, f"plan {change.before} -> {change.after}, decided in {change.took * 1e3:.2f} ms"
            )
        self._told = len(moment.changes)
        if moment.pace.elapsed >= self._next:
            self._next = moment.pace.elapsed + 1.0
            holes = sum(stair.filled < 1 for stair in moment.stairs)
            speed = millions(moment.pace.speeds[-1] if moment.pace.speeds else 0.0)
            state = f"{holes} STAIRs with holes" if holes else "all STAIRs complete"
            self._say(moment, f"{speed}, {state}, {moment.verdict.results:,} results: {moment.verdict}")

    def end(self, moment: Moment) -> None:
        for line in closing(moment):
            self._line(line)

    def _say(self, moment: Moment, text: str) -> None:
        self._line(f"{moment.pace.elapsed:5.1f} s  {text}")

    def _line(self, text: str) -> None:
        print(text, file=self.file, flush=True)


@attrs.define(eq=False)
class LiveView:
    """One picture of at most 80 columns, drawn anew at every moment; the last one stays."""

    console: Console
    query: str
    _live: Live = attrs.field(init=False)

    def __attrs_post_init__(self) -> None:
        self._live = Live(console=self.console, auto_refresh=False, transient=False)

    def __enter__(self) -> LiveView:
        self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._live.stop()

    def show(self, moment: Moment) -> None:
        self._live.update(self.picture(moment), refresh=True)

    def end(self, moment: Moment) -> None:
        self._live.update(self.picture(moment, ended=True), refresh=True)

    @property
    def _width(self) -> int:
        return min(WIDTH, self.console.width)

    def picture(self, moment: Moment, ended: bool = False) -> Panel:
        """The whole picture of one moment. It fits 24 lines, the last one with its closing words too."""
        parts = (
            Text(self.query, style="dim"),
            Rule(style="dim"),
            self._facts(moment),
            Rule(style="dim"),
            self._stairs(moment),
            Rule(style="dim"),
            self._words(moment) if ended else self._sums(moment),
        )
        title = "[bold]Eddy[/bold]: a join whose plan changes while it runs"
        colour = "cyan" if not ended else "green" if moment.verdict.clean else "red"
        return Panel(Group(*parts), title=title, border_style=colour, width=self._width, padding=(0, 1))

    def _facts(self, moment: Moment) -> Table:
        facts = Table.grid(padding=(0, 2))
        facts.add_column(style="dim", width=6)
        facts.add_column()
        facts.add_row(
            "feed", f"{moment.phase.title} [dim]({moment.phase.number} of {moment.phase.count})[/dim]"
        )
        speed = Text(
            f"{millions(moment.pace.speeds[-1]):<18}" if moment.pace.speeds else " " * 18, style="bold"
        )
        facts.add_row("speed", speed + Text(spark(moment.pace.speeds), style="cyan"))
        facts.add_row("change", Text(" " * 18 + marks(moment), style="yellow"))
        facts.add_row("plan", Text(moment.plan, style="bold yellow"))
        last = moment.changes[-1] if moment.changes else None
        said = (
            f"change {len(moment.changes)} at {last.at:.1f} s, decided in {last.took * 1e3:.2f} ms"
            if last
            else "as declared"
        )
        facts.add_row("", Text(said, style="dim"))
        return facts

    def _stairs(self, moment: Moment) -> Table:
        table = Table.grid(padding=(0, 2), expand=True)
        table.add_column(ratio=1, no_wrap=True)
        table.add_column(justify="right", width=9)
        table.add_column(width=20)
        table.add_column(justify="right", width=8)
        table.add_row(*(Text(name, style="dim") for name in ("STAIR", "entries", "filled", "")))
        for stair in moment.stairs:
            done = stair.filled >= 1
            bar = ProgressBar(total=1.0, completed=stair.filled, width=20, complete_style="yellow")
            style = "" if len(stair.streams) > 1 else "dim"
            table.add_row(
                Text(" ".join(stair.streams), style=style),
                Text(f"{stair.entries:,}", style=style),
                bar,
                Text("complete", style="green") if done else Text(f"{stair.filled:.0%}", style="yellow"),
            )
        # A plan has more or fewer STAIRs: blank lines keep the picture at its height.
        for _ in range(6 - len(moment.stairs)):
            table.add_row("")
        return table

    def _words(self, moment: Moment) -> Text:
        *words, last = closing(moment)
        mark, colour = ("✓", "green") if moment.verdict.clean else ("✗", "red")
        return Text.assemble("\n".join(words), (f"\n{mark} {last}", f"bold {colour}"))

    def _sums(self, moment: Moment) -> Group:
        style = "green" if moment.verdict.clean else "bold red"
        sums = Table.grid(expand=True)
        sums.add_column()
        sums.add_column(justify="right")
        sums.add_row(
            Text.assemble((f"{moment.verdict.results:,} results  ", "bold"), (str(moment.verdict), style)),
            Text(f"{moment.bytes / 1e6:,.0f} MB", style="dim"),
        )
        bar = ProgressBar(total=moment.pace.seconds, completed=moment.pace.elapsed, width=self._width - 4)
        return Group(sums, bar)


def spark(speeds: Sequence[float], width: int = 46) -> str:
    """The newest speeds as a line of little bars, the fastest of them full."""
    newest = speeds[-width:]
    top = max(newest, default=0.0) or 1.0
    return "".join(BARS[min(len(BARS) - 1, int(speed / top * len(BARS)))] for speed in newest)


def marks(moment: Moment, width: int = 46) -> str:
    """A pointer under every bar in which the plan was changed."""
    first = max(0, len(moment.pace.speeds) - width)
    return "".join("▲" if i in moment.pace.marks else " " for i in range(first, len(moment.pace.speeds)))

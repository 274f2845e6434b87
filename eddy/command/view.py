"""What `eddy run` shows: a live picture in a terminal, plain lines to standard error in a pipe."""

from __future__ import annotations

import sys
from typing import IO, Any

from rich.console import Console
from rich.live import Live as RichLive
from rich.table import Table
from rich.text import Text

from eddy.progress import shown as drawing
from eddy.running.describing import closing, counted, going_on
from eddy.running.outcome import Outcome, Progress
from eddy.running.telling import ENDED, READING

PERIOD = 5.0
"""Seconds between two lines."""


class Silent:
    """Shows nothing."""

    def __enter__(self) -> None:
        pass

    def __exit__(self, *_: object) -> None:
        pass

    def show(self, progress: Progress) -> None:
        """A run goes on."""

    def end(self, outcome: Outcome) -> None:
        """It is over."""


class Plain(Silent):
    """A line every few seconds, one for each change of plan, and a last one."""

    def __init__(self, file: IO[str]) -> None:
        self.file = file
        self._next, self._plan = PERIOD, ""
        self._states: dict[str, str] = {}
        self._told = False

    def show(self, progress: Progress) -> None:
        if not self._told:
            if progress.resumed is not None:
                self._say(going_on(progress.resumed))
            for what, where in addresses(progress):
                self._say(f"{what} at {where}")
        self._told = True
        for name, state in progress.states.items():
            if state != self._states.get(name, READING) and not progress.ended:
                self._say(
                    f"{progress.seconds:7.1f} s  source {name} {'has' if state == ENDED else 'is'} {state}"
                )
        self._states = progress.states
        if self._plan and progress.plan != self._plan:
            self._say(f"{progress.seconds:7.1f} s  plan {self._plan} -> {progress.plan}")
        self._plan = progress.plan
        if progress.seconds >= self._next and not progress.ended:
            self._next = progress.seconds + PERIOD
            self._say(f"{progress.seconds:7.1f} s  {line_of(progress)}")

    def end(self, outcome: Outcome) -> None:
        for line in closing(outcome):
            self._say(line)

    def _say(self, text: str) -> None:
        print(text, file=self.file, flush=True)


class Live(Silent):
    """One picture, drawn anew."""

    def __init__(self, console: Console | None = None) -> None:
        self.console = console or Console(stderr=True)
        self._live = RichLive(console=self.console, auto_refresh=False, transient=True)
        self._before: Progress | None = None
        self._changed = ""

    def __enter__(self) -> None:
        drawing.add(self)
        self._live.start()

    def __exit__(self, *_: object) -> None:
        self._live.stop()
        drawing.discard(self)

    def show(self, progress: Progress) -> None:
        if self._before is None and progress.resumed is not None:
            self._live.console.print(going_on(progress.resumed), highlight=False)
        self._live.update(self.picture(progress), refresh=True)
        self._before = progress

    def picture(self, progress: Progress) -> Table:
        """A line for each stream, and what there is of the whole."""
        before = self._before
        if before is not None and before.plan != progress.plan:
            self._changed = f", changed at {progress.seconds:.0f} s"
        table = Table(box=None, pad_edge=False, show_edge=False)
        for name in ("stream", "rows", "rows/s", "newest", "lag", "waiting", "late", "bad", "source"):
            left = name in ("stream", "newest", "source")
            table.add_column(name, justify="left" if left else "right", header_style="dim")
        for name, rows in progress.rows.items():
            rate = _rate(before, progress, name)
            cells = [progress.lag.get(name, ""), progress.waiting.get(name, 0)]
            table.add_row(
                *(name, f"{rows:,}", f"{rate:,.0f}", progress.newest.get(name, ""), *map(str, cells)),
                *(f"{progress.late.get(name, 0):,}", f"{progress.bad.get(name, 0):,}"),
                progress.states.get(name, ""),
            )
        done = "" if progress.done is None else f"  {progress.done:.0%}{_left(progress)}"
        mark = "" if progress.watermark is None else f"watermark {progress.watermark}\n"
        metrics = "".join(f"\n{what} at {where}" for what, where in addresses(progress))
        table.caption = Text(
            f"{results_of(progress)}  {memory_of(progress)}  {progress.seconds:.0f} s{done}\n"
            f"{mark}plan {progress.plan}{self._changed}{metrics}"
        )
        table.caption_justify = "left"
        return table

    def end(self, outcome: Outcome) -> None:
        for line in closing(outcome):
            print(line, file=sys.stderr)


def addresses(progress: Progress) -> list[tuple[str, str]]:
    """Where a run may be seen."""
    found = (("live page", progress.page), ("metrics", progress.metrics))
    return [(what, where) for what, where in found if where is not None]


def results_of(progress: Progress) -> str:
    """How many results there are."""
    return counted(progress.results)


def line_of(progress: Progress) -> str:
    """A moment in one line."""
    rows = ", ".join(f"{name} {count:,}" for name, count in progress.rows.items())
    done = "" if progress.done is None else f"{progress.done:.0%}, "
    mark = "" if progress.watermark is None else f"; watermark {progress.watermark}"
    lost = [
        f"{sum(of.values()):,} {what}" for what, of in (("bad", progress.bad), ("late", progress.late)) if of
    ]
    told = f"{done}{results_of(progress)}; rows: {rows}{mark}; {memory_of(progress)}"
    return told + "".join(f"; {text}" for text in lost)


def memory_of(progress: Progress) -> str:
    """What the engine holds, and what it was to hold at most."""
    held = f"{progress.bytes / 1e6:,.0f} MB"
    if progress.memory is None:
        return held
    budget = f"of {progress.memory / 1e6:,.0f} MB"
    return (
        f"{held} {budget}: the budget cannot be kept"
        if progress.bytes > progress.memory
        else f"{held} {budget}"
    )


def _rate(before: Progress | None, now: Progress, name: str) -> float:
    """Rows a second since the last look."""
    if before is None or now.seconds <= before.seconds:
        return now.rows[name] / max(now.seconds, 1e-9)
    return (now.rows[name] - before.rows[name]) / (now.seconds - before.seconds)


def _left(progress: Progress) -> str:
    """How long it may still take."""
    if not progress.done or progress.done >= 1 or progress.seconds < 2:
        return ""
    left: Any = progress.seconds * (1 - progress.done) / progress.done
    return f", about {left:,.0f} s left"

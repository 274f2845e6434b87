"""How a job that takes a while shows where it is: bars in a terminal, plain lines in a pipe."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import IO, Protocol

from attrs import define, field
from rich.console import Console
from rich.progress import BarColumn, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bars

from eddy.progress import shown

Show = Callable[[int, int], None]
"""Takes how much is done, and of how much; nothing is known where that is 0."""


class Progress(Protocol):
    """Something that shows steps, and what is said between them."""

    def say(self, text: str) -> None: ...

    def step(self, title: str) -> AbstractContextManager[Show]: ...


@define(eq=False)
class Plain:
    """Lines with the time since the beginning, for pipes and logs. No escape codes."""

    file: IO[str]
    every: float = 2.0
    """Seconds between two lines about a step."""
    _start: float = field(init=False, factory=time.perf_counter)

    def __enter__(self) -> Plain:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def say(self, text: str) -> None:
        """A line of its own."""
        print(text.encode("ascii", "replace").decode(), file=self.file, flush=True)

    @contextlib.contextmanager
    def step(self, title: str) -> Iterator[Show]:
        """The step's beginning, now and then how far it is, and its end."""
        begun = time.perf_counter()
        told = begun
        self._say(title)

        def show(done: int, of: int) -> None:
            nonlocal told
            if of and time.perf_counter() - told >= self.every:
                told = time.perf_counter()
                self._say(f"{title}: {done} of {of} tasks")

        yield show
        self._say(f"{title}: done in {time.perf_counter() - begun:.1f} s")

    def _say(self, text: str) -> None:
        self.say(f"{time.perf_counter() - self._start:5.1f} s  {text}")


@define(eq=False)
class Live:
    """A bar for each step, which stays when the step is done."""

    console: Console
    _bars: Bars = field(init=False)

    def __attrs_post_init__(self) -> None:
        self._bars = Bars(
            SpinnerColumn(finished_text="✓"),
            TextColumn("{task.description:<28}"),
            BarColumn(bar_width=24),
            TextColumn("{task.fields[count]:>16}"),
            TimeElapsedColumn(),
            console=self.console,
        )

    def __enter__(self) -> Live:
        shown.add(self)
        self._bars.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bars.stop()
        shown.discard(self)

    def say(self, text: str) -> None:
        """A line above the bars."""
        self._bars.console.print(text, markup=False, highlight=False, soft_wrap=True)

    @contextlib.contextmanager
    def step(self, title: str) -> Iterator[Show]:
        """A bar."""
        task = self._bars.add_task(title, total=None, count="")

        def show(done: int, of: int) -> None:
            if of:
                self._bars.update(task, total=of, completed=done, count=f"{done} of {of} tasks")

        yield show
        self._bars.update(task, total=1, completed=1, count="")

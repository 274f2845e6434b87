"""Measures figures piece by piece: what has a record of this code already is left out, so a run can be taken up again.

On a terminal a bar shows the piece, how many are left and how long they may take; in a pipe there is silence.
"""

from __future__ import annotations

import gc
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from attrs import evolve, frozen
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from benchmarks.papers.figure import Figure, Profile
from benchmarks.papers.record import RESULTS, Record, keep, measured_by, read, stale
from benchmarks.stamp import load, stamp

Tell = Callable[[str], None]


@frozen
class Task:
    """A piece to be measured."""

    figure: Figure
    piece: str
    expected: float
    """Seconds that it took the last time, or that a piece takes on average."""


def tasks(
    figures: Sequence[Figure], profile: Profile, again: bool = False, folder: Path = RESULTS
) -> list[Task]:
    """The pieces that have no record of the present code; with ``again`` all. One that several figures show is
    measured once."""
    found: dict[tuple[str, str], Task] = {}
    for figure in figures:
        source = figure.source
        records = read(source.name, profile.name, folder)
        for piece in figure.asks(profile.quick):
            record = records.get(piece)
            if again or record is None or stale(source, record):
                expected = record.stamp.seconds if record is not None else 0.0
                found[source.name, piece] = Task(source, piece, expected)
    return list(found.values())


def measure(task: Task, profile: Profile, folder: Path = RESULTS) -> Record:
    """Measure a piece and keep its record."""
    before, begun = load(), time.perf_counter()
    gc.collect()
    rows = list(task.figure.pieces[task.piece](profile))
    if not rows:
        raise AssertionError(f"{task.figure.name}, {task.piece}: no rows")
    command = f"python -m benchmarks.papers {task.figure.name} --profile {profile.name}"
    command += f" --seed {profile.seed}" if profile.seed else ""
    made = stamp(measured_by(task.figure), profile.seed, command, before, time.perf_counter() - begun)
    record = Record(rows, made)
    keep(task.figure.name, profile.name, task.piece, record, folder)
    return record


def run(
    wanted: Sequence[Task], profile: Profile, folder: Path = RESULTS, console: Console | None = None
) -> None:
    """Measure them all, in order."""
    console = console or Console(file=sys.stderr)
    with progress(wanted, console) as (tell, done):
        measure_all(wanted, profile, folder, tell, done)


def measure_all(
    wanted: Sequence[Task], profile: Profile, folder: Path, tell: Tell, done: Callable[[], None]
) -> None:
    """Measure them all, in order, and tell of it."""
    for task in wanted:
        tell(f"{task.figure.name}, {task.piece}")
        measure(task, evolve(profile, tell=tell), folder)
        done()


@contextmanager
def progress(
    wanted: Sequence[Task], console: Console, finished: int = 0, begun: float | None = None
) -> Iterator[tuple[Tell, Callable[[], None]]]:
    """What to tell, and what to call after each piece. Silent where the console is no terminal.

    A run that is told of in several stretches gives all of its pieces each time, how many are ``finished`` and when
    it had ``begun``, so that what is left is that of the whole run.
    """
    if not console.is_terminal:
        yield (lambda _: None), (lambda: None)
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.fields[left]}"),
    )
    begun = time.monotonic() if begun is None else begun
    known = [task.expected for task in wanted if task.expected]
    usual = sum(known) / len(known) if known else 0.0
    expected = [task.expected or usual for task in wanted]
    with Progress(*columns, console=console, transient=True) as bar:
        shown = bar.add_task("", total=len(wanted), completed=finished, left="")

        def done() -> None:
            nonlocal finished
            finished += 1
            taken = time.monotonic() - begun
            before, after = sum(expected[:finished]), sum(expected[finished:])
            left = taken * after / before if before else taken / finished * (len(wanted) - finished)
            bar.update(shown, advance=1, left=f"about {left:,.0f} s left" if after or not before else "")

        yield (lambda what: bar.update(shown, description=what)), done

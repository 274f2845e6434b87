"""`eddy replay`: recorded files go to a place, as live streams would."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

import eddy
from eddy.command.app import Wrong
from eddy.command.run import Asked
from eddy.command.wording import plain_warnings
from eddy.running.describing import left_out
from eddy.running.letters import Letters, way_of
from eddy.running.replay import Replay, Replayed
from eddy.running.stopping import Stopped
from eddy.sinks.base import Sink
from eddy.sinks.disk import explained
from eddy.sinks.formats import ENDING
from eddy.sources.paced import Pace, speed_of

PLACE = "{stream}"
"""What stands for the name of a stream in a destination."""


def replay(asked: Asked, to: str, format: str | None, speed: str, bad: str, *, quiet: bool) -> int:
    """Do it. The exit status: 0, or 130 after Ctrl-C."""
    with plain_warnings(quiet):
        return _replay(asked, to, format, speed, bad, quiet)


def _replay(asked: Asked, to: str, format: str | None, speed: str, bad: str, quiet: bool) -> int:
    sources, times = asked.opened(), speed_of(speed)
    way, letters = way_of("bad", bad)
    sinks = {name: sink_of(to, name, format, list(sources)) for name in sources}
    pace = None if times is None else Pace(times)
    made = Replay(sources, sinks, pace, Letters("bad", way, letters))
    stopped = Stopped()
    with stopped:
        stopped.control(made)
        found = made.go()
    if not quiet:
        print("\n".join(closing(found)), file=sys.stderr)
    return 0 if found.ended else 130


def sink_of(to: str, name: str, format: str | None, names: Sequence[str]) -> Sink:
    """Where the rows of one stream go."""
    if PLACE in to:
        return eddy.sink(to.replace(PLACE, name), format=format)
    if "://" in to and not to.startswith("file://"):
        if "?" in to:
            raise Wrong(f"write {PLACE} where the names of streams belong in {to}")
        return eddy.sink(f"{to.rstrip('/')}/{name}", format=format)
    if to.endswith("/") or os.path.isdir(to):
        kind = format or "jsonl"
        if kind not in ENDING:
            raise Wrong(f"there is no format {kind!r}: use {', '.join(ENDING)}")
        with explained(to):
            os.makedirs(to, exist_ok=True)
        return eddy.sink(os.path.join(to, name + ENDING[kind]))
    if len(names) > 1:
        raise Wrong(
            f"{to} is one place for {', '.join(names)}: give a folder, such as out/, or write {PLACE} in it"
        )
    return eddy.sink(to, format=format)


def closing(found: Replayed) -> list[str]:
    """The last words."""
    rows = " + ".join(f"{count:,} {name}" for name, count in found.rows.items())
    lines = [f"{rows} rows in {found.seconds:.1f} s" + ("" if found.ended else ", stopped before the end")]
    if found.bad:
        lines.append(left_out(sum(found.bad.values()), "bad"))
    return lines + [f"  {letter}" for letter in found.letters[:3]]

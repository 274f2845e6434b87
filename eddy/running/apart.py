"""Whether a run would write over what it reads, or over what it writes elsewhere."""

from __future__ import annotations

import os
from collections.abc import Mapping

from eddy.errors import EddyError
from eddy.sinks.base import Sink
from eddy.sinks.files import LineFile, TableFile
from eddy.sinks.formats import ENDING
from eddy.sinks.parts import Parts
from eddy.sources.base import Source
from eddy.sources.lines import LineFiles
from eddy.sources.tables import TableFiles


def check_apart(sources: Mapping[str, Source], sinks: Mapping[str, Sink]) -> None:
    """EddyError if a sink writes a file that a source has, or would have, or that another sink writes."""
    taken: dict[str, str] = {}
    for what, sink in sinks.items():
        if not isinstance(sink, (LineFile, TableFile, Parts)):
            continue
        name = sink.path
        if isinstance(sink, Parts):
            name = os.path.join(name, f"part-000000000{ENDING[sink.format]}")
        for stream, source in sources.items():
            if isinstance(source, (LineFiles, TableFiles)) and source.files.would_have(name):
                raise EddyError(f"results cannot go to {sink.path}, which {stream} reads: give another place")
        name = os.path.realpath(name)
        if name in taken:
            first, second = (_told(one) for one in (taken[name], what))
            raise EddyError(f"{first} and {second} cannot both go to {sink.path}: give another place")
        taken[name] = what


def _told(what: str) -> str:
    """What a sink takes."""
    return f"{what} rows" if what in ("bad", "late") else what

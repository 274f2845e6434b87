"""Several queries on the command line: `--query fraud=fraud.sql --query rules/`, and where their results go."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

import eddy
from eddy.command.app import Wrong
from eddy.errors import EddyError
from eddy.sinks.base import Sink

ENDING = ".sql"
STANDARD = "-"


def named(given: Sequence[str]) -> dict[str, str]:
    """The queries by name: NAME=FILE, NAME=SELECT ..., or a folder, whose files are each a query of that name."""
    found: dict[str, str] = {}
    for text in given:
        name, equals, what = text.partition("=")
        if os.path.isdir(text):
            files = sorted(Path(text).glob(f"*{ENDING}"))
            if not files:
                raise Wrong(f"--query {text}: there is no file in it that ends with {ENDING}")
            pairs = [(file.name.removesuffix(ENDING), str(file)) for file in files]
        elif equals and name and what and os.sep not in name:
            pairs = [(name, what)]
        else:
            raise Wrong(
                f"--query is name=file, such as fraud=fraud{ENDING}, or a folder of files, not {text!r}"
            )
        for one, where in pairs:
            if one in found:
                raise Wrong(f"--query: {one} is given twice")
            found[one] = where
    return found


def sink_of(outs: Sequence[str], format: str | None, names: Collection[str]) -> Sink | Mapping[str, Sink]:
    """Where results go: of one query, whose ``names`` are empty, or of several, each elsewhere or all to one place."""
    places = outs or [STANDARD]
    pairs = {text: text.partition("=") for text in places}
    told = {name: where for name, equals, where in pairs.values() if equals and name in names}
    if not told and len(places) == 1:
        return eddy.sink(places[0], format=format)
    if not names:
        raise Wrong(f"--out is given {len(places)} times, and there is one query")
    if len(told) < sum(name in names for name, _, _ in pairs.values()):
        raise Wrong("--out is given twice for one query")
    if len(told) < len(places):
        raise Wrong(
            f"--out is one place for all queries, or name=place for each of {', '.join(names)}: not "
            f"{next((text for text, (name, _, _) in pairs.items() if name not in told), places[-1])!r}"
        )
    lacking = [name for name in names if name not in told]
    if lacking:
        raise EddyError(f"query {lacking[0]} has no --out: give one for each, or one for all")
    return {name: eddy.sink(where, format=format) for name, where in told.items()}

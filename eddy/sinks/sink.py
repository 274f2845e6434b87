"""`sink`: the sink that a path asks for."""

from __future__ import annotations

import os
from typing import Any

from eddy.connect.address import parsed
from eddy.errors import EddyError
from eddy.sinks.base import Sink
from eddy.sinks.files import LineFile, TableFile
from eddy.sinks.formats import ENDING, ENDINGS, LINES
from eddy.sinks.memory import StandardOutput
from eddy.sinks.parts import Parts
from eddy.sinks.schemes import SCHEMES


def sink(where: Any, *, format: str | None = None) -> Sink:
    """A sink of results, for `eddy.run`.

    ``where`` is a file, whose ending says the format: .parquet, .csv, .jsonl, .arrow; a folder, which ends with /, for
    files of ``format``, one for each commit; or "-" for standard output, JSON lines unless ``format`` says csv or
    arrow.
    """
    if isinstance(where, Sink):
        return where
    if not isinstance(where, (str, os.PathLike)):
        raise EddyError(f"a sink is a path, '-' or an eddy.Sink, not {type(where).__name__}")
    path = os.fspath(where).removeprefix("file://")
    scheme, colon, _ = path.partition("://")
    if colon:
        kind = SCHEMES.get(scheme.lower())
        if kind is None:
            raise EddyError(
                f"{path}: sinks write files of this machine, and {', '.join(SCHEMES)}: write a sink of your own, as "
                "docs/extending.md shows"
            )
        address = parsed(path)
        made = kind.load(address).open(address, format=format)
        assert isinstance(made, Sink)
        return made
    if format is not None and format not in ENDING:
        raise EddyError(f"there is no format {format!r}: use {', '.join(ENDING)}")
    if path == "-":
        return StandardOutput(format or "jsonl")
    if path.endswith("/") or os.path.isdir(path):
        return Parts(path, format or "parquet")
    format = format or ENDINGS.get(os.path.splitext(path)[1].lower())
    if format is None:
        raise EddyError(
            f"{path}: its name does not say what it is; end it with {', '.join(ENDINGS)}, with / for a folder, or give "
            "its format"
        )
    return LineFile(path, format) if format in LINES else TableFile(path, format)

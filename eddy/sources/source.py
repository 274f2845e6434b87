"""`source`: the source that a path, an address or an object asks for."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from eddy.checks import flag
from eddy.connect.address import parsed
from eddy.errors import EddyError
from eddy.query.names import nearest
from eddy.shown import shown
from eddy.snapshot.remote import scheme_of
from eddy.sources.base import Source
from eddy.sources.lines import COMPRESSED, LineFiles
from eddy.sources.memory import in_memory
from eddy.sources.places import Files
from eddy.sources.schemes import SCHEMES
from eddy.sources.stdin import StandardInput
from eddy.sources.tables import TableFiles
from eddy.sources.text import LINES

ENDINGS = {
    **{".parquet": "parquet", ".pq": "parquet"},
    **{".csv": "csv", ".tsv": "tsv"},
    **{".jsonl": "jsonl", ".ndjson": "jsonl", ".json": "jsonl"},
    **{".arrow": "arrow", ".feather": "arrow", ".ipc": "arrow", ".arrows": "arrow"},
}
"""The format of a file by the ending of its name."""
FORMATS = tuple(dict.fromkeys(ENDINGS.values()))


def source(
    what: Any,
    *,
    schema: Any = None,
    format: str | None = None,
    time: str | None = None,
    follow: bool = False,
) -> Source:
    """A source of rows, for `eddy.run`.

    ``what`` is a path, a pattern such as "clicks/*.parquet", a folder, an address that fsspec knows, the address of a
    server (kafka://localhost:9092/orders; docs/run.md has all of them), or "-" for standard input; or a table of Arrow,
    a frame of pandas or polars, a dict of columns, or an iterable, also an async one, of any of these.
    The format goes by the ending of the name: Parquet, CSV, JSON lines, Arrow IPC; .gz and .zst of lines. ``schema``
    has the columns and their types, where a file does not say them or what is inferred does not fit; ``time`` names the
    column of the time. With ``follow`` files grow, and folders have more of them later: it never ends.
    """
    follow = flag("follow", follow)
    if schema is not None and not isinstance(schema, (Mapping, pa.Schema)):
        raise EddyError(
            "schema has columns and their types, as in {'ts': 'timestamp'}, or is one of pyarrow: not "
            f"{shown(schema)}"
        )
    if isinstance(what, Source):
        return what
    if not isinstance(what, (str, os.PathLike)):
        return in_memory(what, schema, time)
    path = os.fspath(what)
    if path == "-":
        return StandardInput(format or "jsonl", schema, time)
    kind = SCHEMES.get(scheme_of(path) or "")
    if kind is not None:
        address = parsed(path)
        made = kind.load(address).open(address, schema=schema, time=time, format=format, follow=follow)
        assert isinstance(made, Source)
        return made
    format = format or format_of(path)
    if format not in FORMATS:
        raise EddyError(f"there is no format {format!r}: {nearest(format, dict.fromkeys(FORMATS))}")
    files = Files(
        path, tuple(ending + more for ending, known in ENDINGS.items() if known == format for more in _MORE)
    )
    if format in LINES:
        return LineFiles(files, LINES[format](), schema, time, follow=follow)
    if format == "arrow" or format == "parquet":
        return TableFiles(files, format, schema, time, follow=follow)
    raise AssertionError(format)


_MORE = ("", *COMPRESSED)


def format_of(path: str) -> str:
    """The format that the name of a file, or of the first one of a folder, says."""
    found = _by_ending(path)
    if found is None:
        every = Files(path, tuple(ending + more for ending in ENDINGS for more in _MORE))
        found = next((kind for kind in map(_by_ending, every.names()) if kind is not None), None)
        if found is None and not every.names() and not every.many:
            raise every.absent()
        if found is None and not every.names():
            raise EddyError(
                f"{path}: its name does not say what it is, and there are no files in it that do: give format=, one of "
                f"{', '.join(FORMATS)}"
            )
    if found is None:
        raise EddyError(
            f"{path}: its name does not say what it is; end it with {', '.join(ENDINGS)}, or give format=, one of "
            f"{', '.join(FORMATS)}"
        )
    return found


def _by_ending(path: str) -> str | None:
    name = path.lower()
    for more in COMPRESSED:
        name = name.removesuffix(more)
    return ENDINGS.get(os.path.splitext(name)[1])


def sources_of(given: Mapping[str, Any]) -> dict[str, Source]:
    """A source for each name; what is no source yet becomes one."""
    if not isinstance(given, Mapping):
        raise EddyError(
            "sources are a dict of stream names and sources: {'clicks': eddy.source('clicks.parquet')}"
        )
    return {name: source(what) for name, what in given.items()}

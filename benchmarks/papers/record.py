"""What was measured: the rows of a piece, with a stamp of its own that tells when, where, how and on which code.

Records lie in `benchmarks/results/<profile>/<figure>.json`, a piece each under its name. Measuring one piece touches no
other: neither its rows nor its stamp. A record is *stale* when a file of the code that it measures, or of the module
that measures, is no longer what it was.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from attrs import asdict, frozen

from benchmarks.papers.figure import Figure, Row
from benchmarks.stamp import ROOT, Stamp, digest, stamp_of

RESULTS = ROOT / "benchmarks" / "results"


@frozen
class Record:
    """The rows of one piece."""

    rows: Sequence[Row]
    stamp: Stamp


# -- records of figures ----------------------------------------------------------------------------------------------


def path_of(figure: str, profile: str, folder: Path = RESULTS) -> Path:
    """Where the records of a figure lie."""
    return folder / profile / f"{figure}.json"


def read(figure: str, profile: str, folder: Path = RESULTS) -> dict[str, Record]:
    """The records of all pieces of a figure that have one."""
    path = path_of(figure, profile, folder)
    held = json.loads(path.read_text()) if path.exists() else {}
    return {piece: Record(found["rows"], stamp_of(found["stamp"])) for piece, found in held.items()}


def keep(figure: str, profile: str, piece: str, record: Record, folder: Path = RESULTS) -> None:
    """Write the record of a piece; those of other pieces stay as they are."""
    path = path_of(figure, profile, folder)
    path.parent.mkdir(parents=True, exist_ok=True)
    held = json.loads(path.read_text()) if path.exists() else {}
    held[piece] = {"stamp": asdict(record.stamp), "rows": [_plain(row) for row in record.rows]}
    fresh = path.with_suffix(".new")
    fresh.write_text(json.dumps(dict(sorted(held.items())), indent=1) + "\n")
    fresh.replace(path)


def measured_by(figure: Figure) -> tuple[str, ...]:
    """The code whose change makes a record of the figure stale: what it measures, and the modules of its pieces."""
    modules = {getattr(piece, "func", piece).__module__ for piece in figure.pieces.values()}
    files = (f"{module.replace('.', '/')}.py" for module in modules)
    return (*figure.measures, *sorted(name for name in files if (ROOT / name).is_file()))


def stale(figure: Figure, record: Record) -> bool:
    """Whether the code is no longer what was measured."""
    return record.stamp.code != digest(measured_by(figure))


def _plain(row: Row) -> dict[str, Any]:
    return {name: _value(value) for name, value in row.items()}


def _value(value: Any) -> Any:
    value = value.item() if hasattr(value, "item") else value
    return float(f"{value:.5g}") if isinstance(value, float) else value

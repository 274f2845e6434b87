"""What README.md says below its chart: how fast Eddy was there, and whether the code has changed since.

`python -m benchmarks.pictures --write --only drift` measures and draws it; `make pages` writes this.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from benchmarks.stamp import ROOT, digest, stamp_of

RESULTS = ROOT / "benchmarks" / "results" / "pictures.json"
MARKS = "<!-- chart: written by python -m benchmarks.table --write -->", "<!-- end of chart -->"


def caption(found: Mapping[str, Any]) -> str:
    """What is seen, the ratio over the whole feed, and the mark of a chart that is older than the code."""
    made = stamp_of(found["stamp"])
    lines = [
        "Four streams, whose data change at the grey lines. Both sides begin with the same plan, and give the same "
        "results.",
        f"Over the whole feed Eddy was {found['times']:.1f} times as fast, by the processor's time "
        f"({made.date.partition(' ')[0]}, commit {made.commit}, `{made.command}`).",
    ]
    if made.code != digest(found["measures"]):
        lines[-1] = lines[-1].removesuffix(".") + " (older than the code)."
    return "\n".join(lines)


def kept() -> dict[str, Any]:
    """What was measured."""
    found: dict[str, Any] = json.loads(RESULTS.read_text(encoding="utf-8"))
    return found

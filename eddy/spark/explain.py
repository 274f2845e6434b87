"""`explain`: how the rows of a join were dealt out, and what each partition did."""

from __future__ import annotations

from eddy.errors import EddyError
from eddy.partition import Partitioning
from eddy.spark import report
from eddy.spark.report import PartitionReport, Tally


def reports(frame: object) -> list[PartitionReport]:
    """What each partition did the last time that a frame of `join`, or a query of `stream`, was computed."""
    return report.reports(_job(frame)[1])


def explain(frame: object) -> str:
    """How rows are dealt out - kind, shares, heavy keys - and, once it ran, rows sent and what each partition did."""
    partitioning, _ = _job(frame)
    found = reports(frame)
    lines = [partitioning.explain()]
    if not found:
        return lines[0] + "\nnot computed yet"
    rows = {name: sum(one.rows.get(name, 0) for one in found) for name in partitioning.query.names}
    lines.append("rows sent: " + ", ".join(f"{name} {n:,}" for name, n in rows.items()))
    return "\n".join([*lines, report.shown(found)])


def _job(frame: object) -> tuple[Partitioning, Tally]:
    found = getattr(frame, "__dict__", {}).get("_eddy")
    if found is None:
        raise EddyError(
            "this frame is not one of eddy.spark: pass the very frame that join or stream returned, "
            "not one made from it"
        )
    partitioning, reports = found
    return partitioning, reports

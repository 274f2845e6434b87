"""Tables in the pages of the docs that a benchmark writes: kept with a stamp, shown with it, stale or not.

A table lies in `benchmarks/results/tables/<name>.json`; `put` keeps it and writes it into its page, between two
comments that name it, and `refresh` writes all of them again, as the code is now.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

from attrs import asdict

from benchmarks.stamp import ROOT, digest, stamp, stamp_of

DOCS = ROOT / "docs"
TABLES = ROOT / "benchmarks" / "results" / "tables"


def put(
    page: str, name: str, module: str, lines: Sequence[str], measures: Sequence[str], before: float
) -> None:
    """Keep a table and write it into its page. ``measures``: the code that it is about; ``before``: the load then."""
    made = {"page": page, "module": module, "lines": list(lines), "measures": list(measures)}
    made["stamp"] = asdict(stamp(measures, 0, f"python -m benchmarks.{module} --write", before))
    path = TABLES / f"{name.replace(' ', '-')}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"name": name, **made}, indent=1) + "\n")
    _insert(made | {"name": name})


def kept() -> Iterator[dict[str, Any]]:
    """The tables that were written."""
    for path in sorted(TABLES.glob("*.json")):
        yield json.loads(path.read_text())


def refresh() -> None:
    """Write all tables into their pages again."""
    for table in kept():
        _insert(table)


def _insert(table: dict[str, Any]) -> None:
    path = DOCS / table["page"]
    path.write_text(inserted(path.read_text(encoding="utf-8"), table), encoding="utf-8")


def inserted(text: str, table: dict[str, Any]) -> str:
    """The page with this table in its place."""
    name, module = table["name"], table["module"]
    begin = f"<!-- {name}: written by python -m benchmarks.{module} --write -->"
    end = f"<!-- end of {name} -->"
    assert begin in text, f"docs/{table['page']} has no place for {name}"
    made = "\n".join((begin, *table["lines"], "", stamped(table), end))
    return re.sub(f"{re.escape(begin)}.*?{re.escape(end)}", lambda _: made, text, flags=re.S)


def stamped(table: dict[str, Any]) -> str:
    """Where it is from, and whether the code has changed since."""
    found = stamp_of(table["stamp"])
    old = (
        " **Stale**: the code that this measures has changed since."
        if found.code != digest(table["measures"])
        else ""
    )
    return f"Measured {found}.{old}"

"""Tables in the pages of the docs that a benchmark writes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

DOCS = Path(__file__).parent.parent / "docs"


def put(page: str, name: str, module: str, lines: Sequence[str]) -> None:
    """Put lines into a page, between two comments that name the table and the module that has written it."""
    begin = f"<!-- {name}: written by python -m benchmarks.{module} --write -->"
    end = f"<!-- end of {name} -->"
    path = DOCS / page
    text, made = path.read_text(), "\n".join((begin, *lines, end))
    assert begin in text, f"docs/{page} has no place for {name}"
    path.write_text(re.sub(f"{re.escape(begin)}.*?{end}", lambda _: made, text, flags=re.S))

"""Processes and what they use, read from /proc. It needs nothing but the standard library."""

from __future__ import annotations

import os
from pathlib import Path


def tree(root: int) -> dict[int, list[str]]:
    """A process and all that it has started, directly or not: of each the fields of its `stat` after the name."""
    fields: dict[int, list[str]] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            fields[int(folder.name)] = (folder / "stat").read_text().rpartition(")")[2].split()
        except OSError:  # it has just ended
            continue
    found: set[int] = set()
    fresh = {root} & set(fields)
    while fresh:
        found |= fresh
        fresh = {child for child, of in fields.items() if int(of[1]) in fresh}
    return {process: fields[process] for process in found}


def processor_seconds(root: int | None = None) -> float:
    """What a process, or this one, and all that it has started have used: the JVM, its compilers, Python workers.

    Of a process that has ended its parent has the sum, so that between two calls nothing is lost. 0.0 where there is no
    /proc to read it from.
    """
    ticks = sum(
        sum(map(int, fields[11:15])) for fields in tree(os.getpid() if root is None else root).values()
    )
    return ticks / os.sysconf("SC_CLK_TCK")


def peak_bytes(root: int) -> int:
    """The sum of the peaks of resident memory of a process and of all that it has started and that still run."""
    found = 0
    for process in tree(root):
        try:
            lines = Path(f"/proc/{process}/status").read_text().splitlines()
        except OSError:
            continue
        found += sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM:"))
    return found

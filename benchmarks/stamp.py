"""Where figures come from: when, on which machine and commit, by which command, and on what code.

What was measured is *stale* when the code that it measures is no longer what it was: its digest is another one.
"""

from __future__ import annotations

import ast
import datetime
import hashlib
import os
import platform
import subprocess
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

from attrs import frozen

ROOT = Path(__file__).parents[1]


@frozen
class Stamp:
    """Where figures come from."""

    commit: str
    """With a plus sign where files were changed since."""
    date: str
    machine: str
    load: tuple[float, float]
    """Processes that wanted to run: before and after, over the last minute."""
    seed: int
    command: str
    code: str
    """A digest of the code that is measured."""
    seconds: float = 0.0
    """How long it took."""

    def __str__(self) -> str:
        load = f"load {self.load[0]:.1f} to {self.load[1]:.1f}"
        return (
            f"{self.date}, commit {self.commit}, {self.machine}, {load}, seed {self.seed}, `{self.command}`"
        )


def stamp_of(found: dict[str, Any]) -> Stamp:
    """A stamp that was kept as JSON."""
    before, after = found["load"]
    return Stamp(**{**found, "load": (before, after)})


def load() -> float:
    """Processes that want to run, on average over the last minute."""
    return round(os.getloadavg()[0], 1)


def stamp(measures: Iterable[str], seed: int, command: str, before: float, seconds: float = 0.0) -> Stamp:
    """The stamp of what has just been measured. ``before``: the `load` when it began."""
    return Stamp(
        commit=_commit(),
        date=datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M"),
        machine=machine(),
        load=(before, load()),
        seed=seed,
        command=command,
        code=digest(measures),
        seconds=round(seconds, 1),
    )


@cache
def machine() -> str:
    """Of what kind this machine is."""
    model = platform.machine()
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                model = line.partition(":")[2].strip()
                break
    except OSError:
        pass
    return f"{model}, {os.cpu_count()} processors, Python {platform.python_version()}"


def _commit() -> str:
    def git(*words: str) -> str:
        made = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=False)
        return made.stdout.strip()

    changed = git("status", "--porcelain", "--untracked-files=no", "--", "*.py")
    return (git("rev-parse", "--short=8", "HEAD") or "unknown") + ("+" if changed else "")


def digest(measures: Iterable[str]) -> str:
    """Of all Python and C++ files under these folders, and of these files; what is named behind a minus sign is left
    out. What Python says in comments and docstrings does not count: it is not what is measured."""
    made, names = hashlib.sha256(), list(measures)
    left_out = {path for named in names if named.startswith("-") for path in _files(named[1:])}
    counted = {path for named in names if not named.startswith("-") for path in _files(named)}
    for path in sorted(counted - left_out):
        made.update(path.encode() + _content(path))
    return made.hexdigest()[:12]


def _files(named: str) -> Iterable[str]:
    path = ROOT / named
    if path.is_file():
        return [named]
    if not path.is_dir():
        raise FileNotFoundError(f"{named} is neither a file nor a folder: mend what the figure measures")
    found = (p for suffix in ("*.py", "*.cpp") for p in path.rglob(suffix))
    return [p.relative_to(ROOT).as_posix() for p in found]


@cache
def _content(path: str) -> bytes:
    content = (ROOT / path).read_bytes()
    return hashlib.sha256(code(content) if path.endswith(".py") else content).digest()


def code(source: bytes) -> bytes:
    """What a module does, in one form whatever its layout, and whichever Python reads it."""
    return _form(ast.parse(source)).encode()


def _form(node: object) -> str:
    """A node with what it has. Versions of Python differ in which empty fields they list, so none is written."""
    if isinstance(node, list):
        return f"[{' '.join(_form(one) for one in node if not _is_text(one))}]"
    if not isinstance(node, ast.AST):
        return repr(node)
    fields = ((name, getattr(node, name, None)) for name in node._fields)
    told = (f"{name}={_form(value)}" for name, value in fields if value is not None and value != [])
    return f"({type(node).__name__} {' '.join(told)})"


def _is_text(line: object) -> bool:
    """Whether a line is a docstring, of whatever it stands under."""
    return (
        isinstance(line, ast.Expr)
        and isinstance(line.value, ast.Constant)
        and isinstance(line.value.value, str)
    )

"""Environments of the contenders, each its own: what they need of others conflicts.

What is installed is what the extra `peers` of setup.cfg says.
"""

from __future__ import annotations

import configparser
import re
import subprocess
import sys
from collections.abc import Sequence

from benchmarks.peers.contenders import OWN, Contender
from benchmarks.stamp import ROOT

COMMON = ("numpy", "pyarrow")
"""What every runner needs besides."""


def requirements() -> dict[str, str]:
    """The lines of the extra, by the name of the package."""
    parser = configparser.ConfigParser()
    parser.read(ROOT / "setup.cfg")
    lines = parser["options.extras_require"]["peers"].split("\n")
    return {re.split(r"[<>=!~ \[;]", line.strip())[0]: line.strip() for line in lines if line.strip()}


def install(contenders: Sequence[Contender]) -> list[str]:
    """Make what is missing; returns what could not be installed, and why."""
    failed = []
    known = requirements()
    for contender in contenders:
        if not contender.package or contender.installed:
            continue
        folder = OWN / contender.folder
        print(f"installing {contender.package} into {folder.relative_to(ROOT)}", file=sys.stderr)
        pip = [str(folder / "bin" / "python"), "-m", "pip", "--quiet", "--disable-pip-version-check"]
        commands = (
            [sys.executable, "-m", "venv", str(folder)],
            [*pip, "install", known[contender.package], *COMMON],
        )
        for command in commands:
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode:
                lines = done.stderr.strip().splitlines() or ["no reason given"]
                failed.append(f"{contender.title}: {lines[-1]}")
                break
        contender.forget()
    return failed

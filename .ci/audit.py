"""Has what is installed known faults? By pip-audit; where its database does not answer, this says so and passes."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from typing import Any

PATIENCE = 120
"""Seconds: where nothing answers, a package takes long to be given up."""


def main() -> int:
    """0 unless a fault is known."""
    command = ["-m", "pip_audit", "--skip-editable", "--progress-spinner", "off", "--format", "json"]
    try:
        done = subprocess.run([sys.executable, *command], capture_output=True, text=True, timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        print(f"nothing was audited: no answer within {PATIENCE} s")
        return 0
    try:
        found = json.loads(done.stdout)["dependencies"]
    except (ValueError, KeyError):
        print(f"nothing was audited: {(done.stderr.strip().splitlines() or ['no answer'])[-1]}")
        return 0
    print("\n".join(told(found)))
    return int(any(one.get("vulns") for one in found))


def told(found: list[dict[str, Any]]) -> list[str]:
    """A line for each fault, and how many packages were looked up; if none was, why."""
    audited = [one for one in found if "vulns" in one]
    if not audited:
        reasons = Counter(one.get("skip_reason", "no reason given").partition(":")[0] for one in found)
        why = (
            f"of {len(found)} packages pip-audit says: {reasons.most_common(1)[0][0]}"
            if found
            else "no packages"
        )
        return [f"nothing was audited: {why}"]
    lines = [
        f"{one['name']} {one['version']}: {fault['id']}, "
        f"fixed in {', '.join(fault['fix_versions']) or 'no version yet'}"
        for one in audited
        for fault in one["vulns"]
    ]
    others = f", {len(found) - len(audited)} are not in its database" if len(audited) < len(found) else ""
    return [*lines, f"{len(audited)} packages were audited{others}"]


if __name__ == "__main__":
    sys.exit(main())

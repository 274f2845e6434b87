"""Has what is installed known faults? By pip-audit; where its database does not answer, this says so and passes."""

from __future__ import annotations

import json
import subprocess
import sys

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
    audited = [one for one in found if "vulns" in one]
    for one in audited:
        for fault in one["vulns"]:
            mended = ", ".join(fault["fix_versions"]) or "no version yet"
            print(f"{one['name']} {one['version']}: {fault['id']}, mended in {mended}")
    print(f"{len(audited)} packages were audited, {len(found) - len(audited)} are not in its database")
    return int(any(one["vulns"] for one in audited))


if __name__ == "__main__":
    sys.exit(main())

"""The defaults of the JIT paper's experiments, as goals: `python -m benchmarks.jit [--write] [--only word] [--quick]`.

Every figure is a ratio within this run, or says what its unit is. `--only words` measures the groups whose name has
these words, and a name that no group has lists them all; `--quick` takes small windows, to see that it works; `--write`
keeps the figures in `benchmarks/results_feedback.json`, beside those of groups that were measured before.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path

from benchmarks.jit_figures import DEFAULTS, batches, defaults, large_nested, partners
from benchmarks.report import Report, command

RESULTS = Path(__file__).with_name("results_feedback.json")

GROUPS: Mapping[str, Callable[[Report], None]] = {
    **{f"defaults, {name}": partial(defaults, name=name) for name in DEFAULTS},
    "partners": partners,
    "size of batch": batches,
    "large nested": large_nested,
}


def main() -> int:
    return command("benchmarks.jit", __doc__, GROUPS, RESULTS)


if __name__ == "__main__":
    sys.exit(main())

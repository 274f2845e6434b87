"""Random sets of queries for as long as you like: `python -m tests.several --minutes 5 [--seed N]`."""

from __future__ import annotations

import argparse
import sys
import time
import traceback

from tests.several import late_worlds, naive_worlds
from tests.several.worlds import check
from tests.strategies import Pick


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.several", description=__doc__)
    parser.add_argument("--minutes", type=float, default=1.0)
    parser.add_argument("--seed", type=int, default=1_000_000, help="the first; one that fails is told")
    given = parser.parse_args()
    end, seed = time.monotonic() + 60 * given.minutes, given.seed
    while time.monotonic() < end:
        try:
            check(Pick(seed), 30)
            naive_worlds.check(Pick(seed), 30)
            late_worlds.check(Pick(seed), 30)
        except Exception:
            traceback.print_exc()
            print(f"\nagain: python -m tests.several --minutes 0.01 --seed {seed}", file=sys.stderr)
            return 1
        seed += 1
    print(f"{seed - given.seed} sets of queries, no difference")
    return 0


if __name__ == "__main__":
    sys.exit(main())

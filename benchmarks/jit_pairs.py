"""What it takes, and what it spares, to leave out pairs that nothing matches (`Mns(pairs=True)`).

    python -m benchmarks.jit_pairs

The paper's Figure 5, ((A B) (C D)) E, with values of A and C that E must have together. All sides take the same rows in
turns, in one process; times are processor time of the pushes, bytes the most there was at any time, both as multiples
of those without feedback.
"""

from __future__ import annotations

import statistics
import time

import numpy as np

import eddy
from policies import Feedback, Mns, NoFeedback

COLUMNS = {"A": "x a", "B": "x y", "C": "y z c", "D": "z", "E": "a c"}
WHERE = ["A.x = B.x", "B.y = C.y", "C.z = D.z", "A.a = E.a", "C.c = E.c"]
SIDES: dict[str, Feedback] = {
    "NoFeedback()": NoFeedback(),
    "Mns()": Mns(),
    "Mns(pairs=True)": Mns(pairs=True),
    "Mns(pairs=True, restraint=False)": Mns(pairs=True, restraint=False),
}
SETTINGS = [("hash", 1000, 200, 60, 400), ("hash", 1000, 200, 300, 400), ("nested", 400, 150, 60, 60)]
"""How it joins, rows of a window, values of the columns within each half and of those that E has, and pushes."""
ROWS, EVERY, RUNS = 51, 20, 3
"""Rows of each stream in a push; pushes after which memory is looked at; runs, each with other values."""


def run(policy: Feedback, setting: tuple[str, int, int, int, int], seed: int) -> tuple[float, int, int]:
    """Seconds, bytes and results."""
    joins, window, keys, values, pushes = setting
    rng = np.random.default_rng(seed)
    streams = {
        name: eddy.Stream(dict.fromkeys(columns.split(), "int64"), window=eddy.Rows(window))
        for name, columns in COLUMNS.items()
    }
    engine = eddy.Eddy(eddy.Query(streams, where=WHERE), "((A B) (C D)) E", feedback=policy, joins=joins)
    spent, most, results = 0.0, 0, 0
    for push in range(pushes):
        batch = {
            name: {c: rng.integers(0, values if c in "ac" else keys, ROWS) for c in columns.split()}
            for name, columns in COLUMNS.items()
        }
        start = time.process_time()
        results += len(engine.push_all(batch))
        spent += time.process_time() - start
        if push % EVERY == 0:
            most = max(most, engine.statistics().bytes)
    return spent, most, results


def main() -> None:
    """Print a line for each setting and side."""
    for setting in SETTINGS:
        runs = [{name: run(side, setting, seed) for name, side in SIDES.items()} for seed in range(RUNS)]
        assert all(len({results for _, _, results in told.values()}) == 1 for told in runs)
        for name in SIDES:
            ratios = [
                statistics.median(told[name][i] / told["NoFeedback()"][i] for told in runs) for i in (0, 1)
            ]
            print(f"{setting[0]}, {setting[3]} values: {name} time x{ratios[0]:.2f}, bytes x{ratios[1]:.2f}")


if __name__ == "__main__":
    main()

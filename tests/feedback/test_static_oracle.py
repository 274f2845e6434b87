"""Static relations against the oracle, while plans change and engines are restarted."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import eddy
from eddy.feedback import stored_rows, suspension
from tests import naive
from tests.cases import FEEDBACK, TECHNIQUES, S
from tests.feedback.relations import of, tuples
from tests.strategies import Pick, tree

# -- the oracle --------------------------------------------------------------------------------------------------------


class Case:
    """Sparse joins with one static relation or several, and rows by chance."""

    def __init__(self, seed):
        self.pick, self.rng = Pick(seed), np.random.default_rng(seed)
        pick = self.pick
        self.names = names = "ABCDE"[: pick.choice([3, 4, 4, 5])]
        self.static = set(pick.shuffled(names)[: pick.integer(1, len(names) - 1)])
        pairs = [
            a + b for a, b in itertools.combinations(names, 2) if pick.chance(60) or ord(b) - ord(a) == 1
        ]
        self.columns = {s: ["ts", *(pair.lower() for pair in pairs if s in pair)] for s in names}
        width = pick.integer(3, 30)
        windows = {
            s: pick.choice([("rows", width), ("range", width), ("tumbling time", width)]) for s in names
        }
        self.told = {
            s: S(self.columns[s], ("unbounded",) if s in self.static else windows[s], "ts") for s in names
        }
        kinds = {"rows": eddy.Rows, "range": eddy.Range, "tumbling time": lambda n: eddy.Tumbling(time=n)}
        streams = {
            s: of(" ".join(self.columns[s]), static=True)
            if s in self.static
            else of(" ".join(self.columns[s]), window=kinds[windows[s][0]](width))
            for s in names
        }
        self.trees = [("=", ("col", p[0], p.lower()), ("col", p[1], p.lower())) for p in pairs]
        self.query = eddy.Query(streams, where=[f"{p[0]}.{p.lower()} = {p[1]}.{p.lower()}" for p in pairs])
        self.domain, self.size = pick.choice([2, 3, 4]), pick.choice([2, 5])
        self.options = {
            "migration": pick.choice(TECHNIQUES),
            "feedback": pick.choice(FEEDBACK[1:]),
            "batch_size": pick.choice([3, 16, 4096]),
        }

    def plan(self):
        return "stems" if self.pick.chance(15) else tree(self.pick, self.pick.shuffled(self.names))[1:-1]

    def rows(self, s, n, ts):
        return [(ts, *self.rng.integers(0, self.domain, len(self.columns[s]) - 1).tolist()) for _ in range(n)]

    def batch(self, s, rows):
        return dict(zip(self.columns[s], map(list, zip(*rows, strict=True)), strict=True))


def loaded(case, engine):
    """Load the static relations in several pushes. Returns the events, the results, and rows that are still to come:
    the last may come together with rows of the streams."""
    events, found, last = [], [], {}
    pick = case.pick
    loading = [(s, case.rows(s, pick.integer(0, 8), 0)) for s in pick.shuffled(case.static) for _ in range(2)]
    for i, (s, some) in enumerate(loading):
        if some and i == len(loading) - 1:
            last = {s: some}
        elif some:
            events += [(s, row) for row in some]
            found += tuples(engine.push(s, case.batch(s, some)))
        if pick.chance(20):
            engine.migrate(case.plan())
    return events, found, last


@pytest.mark.parametrize("seed", range(60))
def test_results_are_those_of_an_unbounded_window_loaded_first(seed, monkeypatch, tmp_path):
    """Whatever plans there are meanwhile, and though engines are restarted."""
    case = Case(seed)
    pick = case.pick
    monkeypatch.setattr(suspension, "SHARE", pick.choice([4, 50]))
    monkeypatch.setattr(suspension, "SOME", pick.choice([1, 32]))
    monkeypatch.setattr(suspension, "SELDOM", 1)
    monkeypatch.setattr(stored_rows, "FEW", pick.choice([16, 10**6]))
    engine = eddy.Eddy(case.query, case.plan(), joins=pick.choice(["hash", "hash", "nested"]), **case.options)
    events, found, last = loaded(case, engine)
    changes = pick.choice([0, 10, 25])
    for step in range(25):
        if pick.chance(changes):
            engine.migrate(case.plan())
        if pick.chance(5):
            engine.save(tmp_path / "snapshot")
            engine = eddy.Eddy.load(tmp_path / "snapshot", **case.options)
        moving = {
            s: case.rows(s, pick.integer(0, case.size), step + 1) for s in case.names if s not in case.static
        }
        together = {s: some for s, some in {**last, **moving}.items() if some}
        events += [(s, row) for s, some in last.items() for row in some]
        events += [(s, row) for s in case.names if s not in case.static for row in moving[s]]
        last = {}
        found += tuples(engine.push_all({s: case.batch(s, some) for s, some in together.items()}))
    found += tuples(engine.settle())
    wanted = [row for results in naive.join(case.told, case.trees, events) for row in results]
    assert sorted(found) == sorted(wanted)

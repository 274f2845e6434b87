"""Which rows of a run are late: none within the lateness; of the others those that are not read with newer ones."""

from __future__ import annotations

import random

import pytest

import eddy

BACK = 60
"""How far times go back, at most."""


@pytest.fixture
def feed(tmp_path):
    """Two files whose times go back."""
    pick = random.Random(3)
    for name in ("A", "B"):
        lines = [f"{ts + pick.randrange(-BACK, 1)},{ts % 5}\n" for ts in range(3000)]
        (tmp_path / f"{name}.csv").write_text("ts,k\n" + "".join(lines))
    return {name: tmp_path / f"{name}.csv" for name in ("A", "B")}


def late(feed, lateness, batch):
    """Late rows, and results and good rows of all."""
    text = "SELECT A.ts FROM A [RANGE 5], B [RANGE 5] WHERE A.k = B.k"
    outcome = eddy.run(text, feed, lateness=lateness, late="drop", batch=batch)
    assert sum(outcome.rows.values()) == 6000
    return sum(outcome.late.values()), outcome.results


def test_no_row_within_its_lateness_is_late(feed):
    """Whatever the batch, and the results are the same."""
    found = {late(feed, BACK, batch) for batch in (1, 10, 300, 10_000)}
    assert len(found) == 1 and found.pop()[0] == 0


def test_a_smaller_batch_finds_more_late_rows(feed):
    """What is read together is judged by the watermark before it: a whole file at once has no late row."""
    counts = [late(feed, 10, batch)[0] for batch in (1, 10, 300, 10_000)]
    assert counts == sorted(counts, reverse=True) and counts[0] > 100 and counts[-1] == 0

"""Plan changes under JISC: windows of 100,000 rows, one key class."""

from __future__ import annotations

import pytest

from benchmarks.migrate import changes


@pytest.mark.parametrize("background", [0, 4096])
def test_migrate(background, contest, row):
    """The call, the longest batch after it, and the speed when all STAIRs are complete again."""
    made, contestants, events = changes(background=background)
    timings = contest(contestants, events, rounds=40)
    title = "migrate, windows of 100,000 rows"
    row(
        title, "", "milliseconds", "longest / median", "batches to complete", "speed after, of never migrated"
    )
    row(
        title,
        f"background={background}",
        1000 * max(change.seconds for change in made),
        max(change.longest for change in made),
        max(change.batches for change in made),
        timings.ratio("migrated", "never migrated"),
    )

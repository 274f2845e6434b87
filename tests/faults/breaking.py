"""Connections that break in the middle of what is sent, while runs are killed as well."""

from __future__ import annotations

from collections import Counter


def until_over(world, relay, pick):
    """Start a run again and again, until it is over; how often it was killed, and a connection broke."""
    kills, over = 0, False
    for _ in range(40):
        step = pick.randint(1, 150) if kills < 3 and pick.random() < 0.5 else 10**9
        over = world.killed(step, batch=pick.choice([4, 8, 30])) is not None
        if over:
            break
        kills += not world.refused
    assert over, "the run has not ended"
    return Counter({"step": kills, "broken connection": relay.broken})

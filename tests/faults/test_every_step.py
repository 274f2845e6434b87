"""A run that is killed at every step of what it does: nothing is lost, and nothing is there twice."""

from __future__ import annotations

import pytest

from tests.faults.steps import at_every_step


@pytest.mark.parametrize("name", ["folder", "own"])
def test_killed_at_every_step(name, tmp_path):
    """Of reading, writing, a commit and the end, and in the middle of what is written; it goes on each time."""
    assert at_every_step(tmp_path, name) > 30

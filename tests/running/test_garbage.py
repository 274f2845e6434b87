"""While a run goes on, full collections of garbage do not look through what was there before: they would be pauses."""

from __future__ import annotations

import gc

import pytest

import eddy
from tests.runs import QUERY, feed


@pytest.fixture(autouse=True)
def thawed():
    """Nothing is left out before, nor behind."""
    gc.unfreeze()
    yield
    gc.unfreeze()


def test_what_was_there_is_left_out_until_the_run_is_over():
    """From the first push on; also when a run ends with an error."""
    told = []
    eddy.run(QUERY, feed(1), batch=16, on_progress=lambda _: told.append(gc.get_freeze_count()))
    assert told[-1] > 10_000 and gc.get_freeze_count() == 0

    def fail(progress):
        if progress.ended:
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        eddy.run(QUERY, feed(1), batch=16, on_progress=fail)
    assert gc.get_freeze_count() == 0


def test_what_a_program_leaves_out_stays_so():
    """A run does not undo it."""
    gc.freeze()
    before = gc.get_freeze_count()
    eddy.run(QUERY, feed(1), batch=16)
    assert gc.get_freeze_count() == pytest.approx(before, rel=0.1) and before > 0

"""Engines that show their state, for tests of what no door of `Eddy` shows: a STAIR, a program, who leads."""

from __future__ import annotations

from eddy.engine.build import build, started, steered
from eddy.engine.eddy import Eddy, EngineOver
from eddy.engine.options import checked
from eddy.state import EngineState


class Inside(Eddy):
    """An `Eddy`, made or loaded by the same doors, with its `state`."""

    @property
    def state(self) -> EngineState:
        return self._state


class _Numbered(Inside, EngineOver):
    """The same over a state that was built here."""


def engine_from(first_row, query, plan=None, **options):
    """An engine whose rows are numbered from ``first_row`` on: row numbers may pass 2**31 and 2**32."""
    state = build(checked(query, plan, **options), plan, first_row=first_row)
    return _Numbered(started(steered(state)))

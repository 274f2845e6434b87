"""Collections of garbage while a run goes on: what was there when it began is not looked through by each of them.

Python's full collections look at every object, those of compiled kernels and libraries too: a tenth of a second, in
which a run stands still. These objects stay as long as the program does, so a run leaves them out until it is over.
"""

from __future__ import annotations

import gc

from attrs import define


@define(eq=False)
class Garbage:
    """That of one run. A program that has left objects out by itself before (`gc.freeze`) is not interfered with."""

    _asked: bool = False
    _ours: bool = False

    def leave_out(self) -> None:
        """After the first push, when all is loaded: what is there now. After others nothing is done."""
        if self._asked:
            return
        self._asked = True
        if not gc.get_freeze_count():
            gc.freeze()
            self._ours = True

    def close(self) -> None:
        """The run is over: all objects are looked through again."""
        if self._ours:
            gc.unfreeze()
            self._ours = False

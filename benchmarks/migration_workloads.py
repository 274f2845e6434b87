"""The feeds and the plan changes of the papers' experiments on migration."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from attrs import field, frozen

from benchmarks.workloads import Chunk, Workload
from eddy.plan import plan

LETTERS = "".join(chr(c) for c in range(65, 0x180) if chr(c).isalpha())
"""Names for more streams than the alphabet has letters."""


@frozen(eq=False)
class Even(Workload):
    """Uniform keys with the least spread there is: a window holds every key once.

    So a row meets exactly one of every other stream and gives one result, with two streams or with a hundred. Keys
    drawn at random do not go on for ever: 100 streams hardly ever have a key in common, and where they have one, it
    has astronomically many results.
    """

    _turns: list[npt.NDArray[np.int64]] = field(init=False, repr=False)
    _rows: npt.NDArray[np.int64] = field(init=False, repr=False)

    @_turns.default
    def _shuffled(self) -> list[npt.NDArray[np.int64]]:
        if self.keys != self.window:
            raise ValueError(f"a window of {self.window} rows cannot hold each of {self.keys} keys once")
        random = np.random.default_rng(self.seed)
        return [random.permutation(self.keys) for _ in range(self.streams)]

    @_rows.default
    def _none(self) -> npt.NDArray[np.int64]:
        return np.zeros(self.streams, np.int64)

    @property
    def names(self) -> str:
        return LETTERS[: self.streams]

    def chunk(self, events: int) -> Chunk:
        drawn = super().chunk(events)
        keys = np.empty(events, np.int64)
        for s, turn in enumerate(self._turns):
            own = np.flatnonzero(drawn.streams == s)
            keys[own] = turn[(self._rows[s] + np.arange(len(own))) % self.keys]
            self._rows[s] += len(own)
        return Chunk(drawn.streams, (keys,), drawn.first)


RARE = 20
"""How many times as many values a rare stream has: selectivities of 0.05 and 0.0025 (HybMig, section 5.1)."""


@frozen(eq=False)
class Shifting(Workload):
    """The clique of HybMig's experiments: one key, and one stream whose values are rare; which one may shift.

    With one attribute that all share there is a condition between each pair, and the sizes agree with what the paper
    tells (at 2.3 rows a second the states that Moving State computes have 76 million tuples, its overflow); with a
    column of its own for each pair there would be no results at all.
    """

    _rare: list[int] = field(init=False, factory=lambda: [0])

    def shift(self, stream: int) -> None:
        """From now on this stream is the rare one."""
        self._rare[0] = stream

    def chunk(self, events: int) -> Chunk:
        drawn = super().chunk(events)
        (keys,) = drawn.columns
        rare = drawn.streams == self._rare[0]
        spread = self._random.integers(0, RARE, events) * self.keys
        return Chunk(drawn.streams, (np.where(rare, keys + spread, keys),), drawn.first)


# -- plans ---------------------------------------------------------------------------------------------------------


def left_deep(order: Sequence[str]) -> str:
    """``((A B) C) D``."""
    return str(plan.left_deep(order))


def right_deep(order: Sequence[str]) -> str:
    """``A (B (C D))``."""
    text = order[-1]
    for name in reversed(order[:-1]):
        text = f"{name} ({text})" if " " in text else f"{name} {text}"
    return text


def bushy(order: Sequence[str]) -> str:
    """HybMig's bushy plan: right-deep, but the streams n - 4 and n - 3 are joined first, before the spine meets them.

    ``A ((B C) (D (E F)))`` for six.
    """
    at = max(0, len(order) - 5)
    text = f"({order[at]} {order[at + 1]}) ({right_deep(order[at + 2 :])})"
    for name in reversed(order[:at]):
        text = f"{name} ({text})"
    return text


def last_two_first(order: Sequence[str]) -> str:
    """``(((A B) C) D) (E F)``: what it shares with a left-deep plan is all but the top."""
    return f"({left_deep(order[:-2])}) ({order[-2]} {order[-1]})"


def orderings(order: Sequence[str]) -> str:
    """SteMs: the rows of every stream visit the others in this order."""
    return " | ".join(f"{name}: {' '.join(other for other in order if other != name)}" for name in order)


def swapped(order: str, case: str) -> str:
    """JISC's transitions: "best" swaps the two streams on top, "worst" the bottom stream with the top one.

    The best case leaves one state incomplete, just below the root; the worst one all but the root.
    """
    if case == "best":
        return order[:-2] + order[-1] + order[-2]
    return order[-1] + order[1:-1] + order[0]

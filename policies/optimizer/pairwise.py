"""What a stream that is added to others adds, from the selectivities of pairs: for sets of many streams."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from policies.optimizer.cards_kernels import UNTESTED
from policies.optimizer.words import Layout, Words

Floats = NDArray[np.float64]
Longs = NDArray[np.int64]


@frozen(eq=False)
class Pairwise:
    """As `wide_cards` takes it: see `wide_kernels`."""

    near: tuple[Longs, Longs, Longs, Floats]
    tests: tuple[Longs, Words, Floats]
    exact: Mapping[bytes, float]
    """Live composites of sets of which they are known, by the bytes of their words."""
    widths: NDArray[np.bool_]
    """Whether there are such sets of so many streams."""


def pairwise(layout: Layout, pairs: Floats, known: Mapping[int, float]) -> Pairwise:
    """Selectivities of ``pairs`` in logarithms. Where two streams share several keys, each has its part of theirs."""
    members = layout.members
    n = len(members)
    groups: list[list[tuple[Longs, Floats]]] = [[] for _ in range(n)]
    together = members @ members.T
    shares = pairs / np.maximum(together, 1.0)
    for c in range(members.shape[1]):
        inside = np.flatnonzero(members[:, c])
        for at in range(1, len(inside)):
            own, before = int(inside[at]), inside[:at]
            order = np.argsort(-shares[own, before], kind="stable")
            groups[own].append((before[order], shares[own, before[order]]))
    every = [group for own in groups for group in own]
    near = (
        _starts([len(own) for own in groups]),
        _starts([len(others) for others, _ in every]),
        np.concatenate([np.empty(0, np.int64), *(others for others, _ in every)]),
        np.concatenate([np.empty(0), *(values for _, values in every)]),
    )
    words = map(bytes, layout.words(list(known)).view(np.uint8))
    widths = np.zeros(n + 1, np.bool_)
    widths[[mask.bit_count() for mask in known]] = True
    exact = dict(zip(words, known.values(), strict=True))
    return Pairwise(near, _tests(layout, pairs, together), exact, widths)


def _tests(layout: Layout, pairs: Floats, together: NDArray[np.float32]) -> tuple[Longs, Words, Floats]:
    """Other predicates; one of two streams that share a key is in the selectivity of the pair already."""
    reads = [np.flatnonzero(bits) for bits in layout.bits(layout.thetas)]
    of_streams: list[list[tuple[int, float]]] = [[] for _ in layout.graph.names]
    for t, streams in enumerate(reads):
        if len(streams) > 2:
            of_streams[streams[-1]].append((t, UNTESTED))
        elif len(streams) == 2 and not together[streams[0], streams[1]]:
            of_streams[streams[-1]].append((t, float(pairs[streams[0], streams[1]])))
    every = [test for tests in of_streams for test in tests]
    words = layout.thetas[[t for t, _ in every]]
    return (
        _starts([len(tests) for tests in of_streams]),
        np.ascontiguousarray(words).reshape(len(every), layout.thetas.shape[1]),
        np.array([value for _, value in every], np.float64),
    )


def _starts(lengths: list[int]) -> Longs:
    """Where parts of these lengths begin, and where the last one ends."""
    return np.cumsum([0, *lengths], dtype=np.int64)

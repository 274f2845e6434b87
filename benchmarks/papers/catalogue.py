"""All figures, paper by paper."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.papers import cheapest, hybmig, jisc, jit, thesis, zhu
from benchmarks.papers.figure import Figure

FIGURES: Sequence[Figure] = (
    *zhu.FIGURES,
    *hybmig.FIGURES,
    *jisc.FIGURES,
    *cheapest.FIGURES,
    *jit.FIGURES,
    *thesis.FIGURES,
)
"""In the order of the papers and of their pages."""


def named(name: str) -> Figure:
    """The figure of this name."""
    for figure in FIGURES:
        if figure.name == name:
            return figure
    raise KeyError(f"no figure is called {name!r}; there are {', '.join(figure.name for figure in FIGURES)}")

"""A figure or a table of a paper: pieces that give rows, claims that rows can refute, and charts of the rows.

A figure of one's own, as `benchmarks/papers/catalogue.py` would list it::

    def by_window(profile: Profile) -> Iterator[Row]:
        for window in (100, 200) if profile.quick else (1_000, 10_000):
            profile.tell(f"window of {window}")
            for name, seconds in measured(window, profile.seed).items():
                yield {"window": window, "technique": name, "seconds": seconds}

    Figure(
        name="zhu-9",
        paper="Zhu",
        label="Figure 9",
        title="How long Parallel Track takes, by window",
        setup="Four streams in a chain; the paper's sizes; a simulated clock.",
        pieces={"windows": by_window},
        claims=[Claim("Its duration is about twice the window", twice_the_window)],
        charts=[Chart(x="window", y="seconds", by="technique")],
        measures=("eddy/migration", "policies/migration"),
    )
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal

from attrs import field, frozen

Row = Mapping[str, Any]
"""One point: plain values (text, numbers, booleans, None) by the names of columns, the same names in each row."""


def _silent(what: str) -> None:
    del what


@frozen
class Profile:
    """How large: `quick` to see that all works and which way it points, `full` for the papers' sizes."""

    name: Literal["quick", "full"] = "quick"
    seed: int = 0
    tell: Callable[[str], None] = _silent
    """To be told what is being measured, as often as one likes."""

    @property
    def quick(self) -> bool:
        return self.name == "quick"


Piece = Callable[[Profile], Iterable[Row]]
"""What is measured at a stretch, a few minutes at most in the full profile: a run that is interrupted is taken up
again with the first piece that has no record."""


@frozen
class Verdict:
    """What the rows say of a claim."""

    agrees: bool
    measured: str
    """In a few words, with the numbers that decided."""


Judge = Callable[[Sequence[Row]], Verdict | None]
"""Of all rows of a figure; None if these rows cannot tell, as those of a quick run that leaves a size out."""


GOAL = "Goal of ours: "
"""How a claim begins that no paper makes."""


@frozen
class Claim:
    """What a paper says of a figure, in our words and with its numbers; or a goal of ours."""

    text: str
    judge: Judge
    why: str = ""
    """Where ours disagrees: the reason, as far as a measurement has shown it. Printed only then."""

    @property
    def ours(self) -> bool:
        """Whether no paper makes it."""
        return self.text.startswith(GOAL)


@frozen
class Chart:
    """Rows as a picture: `y` over `x`, a line (or bars) for each value of `by`."""

    x: str
    y: str
    by: str = ""
    kind: Literal["line", "step", "bar"] = "line"
    log: Literal["", "x", "y", "xy"] = ""
    where: Mapping[str, Any] = field(factory=dict)
    """Only rows that have these values; any of them, where a frozenset is given."""
    title: str = ""
    paper: Sequence[Row] = ()
    """Points that the paper prints, with the same columns: drawn dashed, marked as the paper's."""


@frozen
class Figure:
    """A figure or a table that reports a measurement."""

    name: str
    """Names the record and the picture: `jisc-7`, `thesis-table-6.4`."""
    paper: str
    label: str
    """As the paper calls it: `Figure 7`."""
    title: str
    setup: str
    """What is as in the paper and what is not: sizes, plans, clock."""
    pieces: Mapping[str, Piece]
    claims: Sequence[Claim]
    charts: Sequence[Chart]
    measures: Sequence[str] = ("eddy", "stairs", "policies")
    """Folders and files of code whose change makes the record stale."""
    simulated: bool = False
    """Whether it is by the simulated clock, and so the same on every machine."""
    of: Figure | None = None
    """Another figure whose rows this one shows: then it has no pieces of its own. One that is in no catalogue will do:
    what is measured for several figures."""
    only: Sequence[str] = ()
    """The pieces that are shown; all if none is named."""
    large: frozenset[str] = frozenset()
    """Pieces that a quick run leaves out."""
    ours: bool = False
    """Whether no paper has it: then its claims are goals of ours, too."""
    counted: bool = False
    """Whether a part of it is counted, not timed, and so the same on every machine."""

    @property
    def clock(self) -> str:
        """What its numbers are, in a word or two."""
        return "simulated" if self.simulated else "counted and real" if self.counted else "real"

    @property
    def source(self) -> Figure:
        """The figure that has the pieces."""
        return self.of or self

    @property
    def shows(self) -> Sequence[str]:
        """The names of the pieces whose rows this one shows."""
        return self.only or tuple(self.source.pieces)

    def asks(self, quick: bool) -> Sequence[str]:
        """Those of them that a run measures."""
        return [piece for piece in self.shows if not (quick and piece in self.source.large)]

    def __attrs_post_init__(self) -> None:
        if bool(self.pieces) == (self.of is not None):
            raise ValueError(f"{self.name} must have either pieces or another figure's rows")
        for piece in (*self.only, *self.large):
            if piece not in self.source.pieces:
                raise ValueError(f"{self.name} names {piece!r}, which is no piece of {self.source.name}")


def chosen(rows: Iterable[Row], **values: Any) -> list[Row]:
    """The rows that have these values; any of them, where a frozenset is given."""
    wanted = {name: value if isinstance(value, frozenset) else {value} for name, value in values.items()}
    return [row for row in rows if all(row.get(name) in some for name, some in wanted.items())]

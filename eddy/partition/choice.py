"""The choice of a partitioning, and the partitioning itself: see `eddy.partition`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from attrs import field, frozen

from eddy.checks import checked, whole
from eddy.errors import EddyError
from eddy.intake.columns import _mapping
from eddy.partition.attached import deal_all, hashed, shared_key
from eddy.partition.given import check_columns, check_sizes, check_streams, checked_sample
from eddy.partition.grid import Grid, Weighed, deal
from eddy.partition.marks import counted
from eddy.partition.slices import Slices, slices, times_of
from eddy.query.keys import KeyClass
from eddy.query.query import Query
from eddy.values.types import Array, Sample
from policies.options import one_of

KINDS = ("hash", "hypercube", "slices", "single")
BETTER = 0.7
"""Slices are chosen by themselves where their cells get no more than this part of what those of a grid get."""


@frozen
class Partitioning:
    """Where rows go. It can be pickled, and deals alike in every process."""

    kind: str
    cells: int
    query: Query = field(repr=False, eq=False)
    weighed: Weighed = field(repr=False)
    grids: tuple[Grid, ...] = field(repr=False)
    slices: Slices | None = field(default=None, repr=False)
    sized: bool = field(default=False, repr=False)
    """Whether sizes were given; else all streams count alike."""
    unit: str = field(default="rows", repr=False, eq=False, kw_only=True)
    """What the sizes count: "rows", or "bytes" where nothing better is known; then so do the next two."""
    load: float = field(default=0.0, repr=False)
    """Rows that the fullest cell gets, estimated; with sizes not given, in rows of one stream."""
    sent: float = field(default=0.0, repr=False)
    """Rows sent, estimated in the same way."""
    note: str = field(default="", repr=False)
    before: Mapping[str, int] = field(factory=dict, repr=False, eq=False)
    """Rows of the streams that had come before anything was dealt out in this way."""

    @property
    def classes(self) -> tuple[KeyClass, ...]:
        """The key classes that are dimensions of the grids, before the rows of each stream."""
        return self.weighed.classes

    @property
    def numbered(self) -> bool:
        """Whether rows need their numbers, `__row`, in order to be dealt out."""
        first = len(self.weighed.classes)
        by_row = any(share > 1 for grid in self.grids for share in grid.shares[first:])
        return by_row or (self.slices is not None and "row" in self.slices.measures.values())

    @property
    def by_event(self) -> bool:
        """Whether rows need the numbers of their events, `__event`, in order to be dealt out."""
        return self.slices is not None and self.slices.by == "event"

    def deal(
        self, stream: str, columns: object, numbers: Array | None = None, events: Array | None = None
    ) -> tuple[Array, Array]:
        """Where rows go: their places in the batch (int64), and beside each a cell that it is sent to (int32).

        A row is listed once for each cell it is copied to. ``columns`` is a batch as `push` takes it; columns that are
        neither keys nor times may be missing. ``numbers`` and ``events``: what travels as `__row` and `__event`.
        """
        check_streams(self.query, (stream,))
        batch = columns if isinstance(columns, dict) else _mapping(stream, columns)
        by_time = self.slices is not None and self.slices.by == "time"
        check_columns(self.query, stream, batch, self.classes, by_time, numbers=numbers, events=events)
        if self.slices is not None:
            return self.slices.deal(self.query, stream, batch, numbers, events)
        if self.query.attachments and self.cells > 1:
            return deal_all(self.weighed, self.cells, stream, batch)
        return deal(self.weighed, self.grids, stream, batch, numbers)

    def copies(self, stream: str) -> float:
        """To how many cells a row of the stream goes, on average, as estimated."""
        if self.slices is not None:
            return self.sent / max(1.0, sum(self.weighed.sizes.values()))
        total = 0.0
        for grid in self.grids:
            dimensions = self.weighed.dimensions(grid.category)
            lacked = [s for s, d in zip(grid.shares, dimensions, strict=True) if stream not in d]
            total += self.weighed.sizes_in(grid.category)[stream] * float(np.prod(lacked))
        return total / max(self.weighed.sizes[stream], 1e-9)

    def explain(self, sent: Mapping[str, tuple[int, int]] | None = None) -> str:
        """The kind, shares, heavy keys and rows sent, as text; ``sent``: measured rows and copies of each stream."""
        lines = [f"partitioned by {self._what()}: {self.cells} cell{'' if self.cells == 1 else 's'}"]
        if self.note:
            lines.append(f"  {self.note}")
        for grid in self.grids:
            if self.cells > 1:
                lines.append(f"  {self._grid(grid)}")
        for name in self.query.names:
            text = f"  {name}: each row to {self.copies(name):.2f} cells"
            if self.slices is not None:
                text = f"  {name}: {self._needs(name)}"
            if sent is not None and name in sent:
                rows, copies = sent[name]
                former = self.before.get(name, 0)
                text += (
                    f"; {copies:,} sent of {rows - former:,} rows{' since it was loaded' if former else ''}"
                )
            lines.append(text)
        if self.sized and self.unit != "rows":
            part = self.load / max(self.sent, 1e-300)
            lines.append(f"  estimated by {self.unit}: {part:.0%} of what is sent goes to the fullest cell")
        elif self.sized:
            lines.append(f"  estimated: {self.sent:,.0f} rows sent, {self.load:,.0f} to the fullest cell")
        return "\n".join(lines)

    def _what(self) -> str:
        if self.kind == "hash":
            return f"hash of {self.weighed.classes[0]}"
        return {"slices": f"slices of {'' if self.slices is None else self.slices.by}"}.get(
            self.kind, self.kind
        )

    def _grid(self, grid: Grid) -> str:
        names = [str(c) for c in self.weighed.classes] + [f"rows of {name}" for name in self.weighed.names]
        cut = [f"{name} in {share}" for name, share in zip(names, grid.shares, strict=True) if share > 1]
        heavy = [
            f"{names[place]} = {self.weighed.keys(place)[number - 1].shown}"
            for place, number in enumerate(grid.category)
            if number
        ]
        where = f"heavy {', '.join(heavy)}" if heavy else "grid"
        return f"{where}: {', '.join(cut) if cut else 'not cut'} ({grid.cells} from cell {grid.start})"

    def _needs(self, name: str) -> str:
        assert self.slices is not None
        measure = self.slices.measures[name]
        if measure in ("time", "row"):
            return f"to its slice and those whose {self.query.streams[name].window!r} reaches back to it"
        return "to every slice" if measure == "static" else "to its slice and all later ones"


def choose(
    query: Query,
    cells: int,
    rows: Mapping[str, float] | None = None,
    sample: Mapping[str, object] | None = None,
    kind: str | None = None,
) -> Partitioning:
    """The way to deal the rows of a query out to at most ``cells`` cells in which the fullest gets the fewest rows.

    ``rows``: sizes or rates of the streams, in any unit; all alike if not given. ``sample``: rows of some streams, as
    batches, in which heavy keys are found, and times for slices. ``kind`` asks for one of `KINDS`; without it slices
    are taken only where a sample shows that they are much better: the others need no rows in advance.
    """
    if kind is not None:
        checked("a kind of partitioning", kind, one_of(KINDS, f"one of {', '.join(KINDS)}"), "is")
    cells = whole("cells", cells)
    check_streams(query, (*(rows or ()), *(sample or ())))
    check_sizes(rows)
    by_time = query.time_windows and not counted(query)
    batches = checked_sample(query, sample, _cut_by(query) if kind != "slices" else (), by_time)
    if query.signed:
        what = (
            "an aggregate" if query.grouped else "a set difference" if query.minus else "a query with changes"
        )
        return _single(query, rows, f"{what} is not dealt out: a result can depend on events of any cell")
    if query.attachments:
        return _attached(query, cells, rows, kind)
    if kind == "single" or cells == 1:
        return _single(query, rows, "")
    sliced = None
    if kind == "slices" or (kind is None and _sliceable(query, batches)):
        sliced = _slices(query, cells, rows, batches)
    if sliced is not None and kind == "slices":
        return sliced
    grid = gridded(query, cells, rows, batches, kind)
    return sliced if sliced is not None and sliced.load < BETTER * grid.load else grid


def gridded(
    query: Query,
    cells: int,
    rows: Mapping[str, float] | None = None,
    sample: Sample | None = None,
    kind: str | None = None,
) -> Partitioning:
    """A grid of cells for the join of a query, whatever is made of its results."""
    _check_inner(query)
    covering = _covering(query)
    if kind == "hash" and not covering:
        raise EddyError("no one key joins all streams, so they cannot be hashed: ask for hypercube")
    sizes = _sizes(query, rows)
    weighed = Weighed(query.names, _cut_by(query), sizes)
    if sample and cells > 1:
        weighed.leave_out(sample)
        weighed.find_heavy(cells, sample)
    grids = weighed.grids(cells)
    used = sum(grid.cells for grid in grids)
    return Partitioning(
        ("hash" if covering and kind != "hypercube" else "hypercube") if used > 1 else "single",
        used,
        query,
        weighed,
        grids,
        sized=rows is not None,
        load=max(grid.load for grid in grids),
        sent=sum(grid.load * grid.cells for grid in grids),
    )


def _covering(query: Query) -> list[KeyClass]:
    """The key classes that join all streams."""
    return [c for c in query.key_classes if set(c.members) == set(query.names)]


def _cut_by(query: Query) -> tuple[KeyClass, ...]:
    """The key classes that a grid is cut by: one that joins all streams, or else all of them."""
    return tuple(_covering(query)[:1] or query.key_classes)


def _sizes(query: Query, rows: Mapping[str, float] | None) -> dict[str, float]:
    return {name: 1.0 if rows is None else float(rows.get(name, 0.0)) for name in query.names}


def _single(query: Query, rows: Mapping[str, float] | None, note: str) -> Partitioning:
    sizes = _sizes(query, rows)
    total = sum(sizes.values())
    weighed = Weighed(query.names, (), sizes)
    return Partitioning(
        "single", 1, query, weighed, weighed.grids(1), None, rows is not None, total, total, note
    )


# -- attachments -------------------------------------------------------------------------------------------------------


def _attached(query: Query, cells: int, rows: Mapping[str, float] | None, kind: str | None) -> Partitioning:
    """By the hash of a key that all streams share, or everything to one cell."""
    if kind in ("hypercube", "slices"):
        _check_inner(query)
    key, marked, why = shared_key(query), counted(query), ""
    if marked:
        why = f"with {query.attachments[0]} rows are not dealt out where a window counts them, as that of {marked[0]}"
    elif key is None:
        why = f"with {query.attachments[-1]} rows are dealt out only by one key that joins all streams: there is none"
    if why and kind == "hash":
        raise EddyError(f"{why}, so leave kind out")
    if key is None or why or kind == "single" or cells == 1:
        return _single(query, rows, why)
    sizes = _sizes(query, rows)
    weighed = Weighed(query.names, (key,), sizes)
    grids, total = hashed(weighed, cells), sum(sizes.values())
    return Partitioning(
        "hash", cells, query, weighed, grids, sized=rows is not None, load=total / cells, sent=total
    )


def _check_inner(query: Query) -> None:
    """EddyError for attachments: a copy of a row would be a row without a partner in another cell."""
    if query.attachments:
        raise EddyError(
            f"with {query.attachments[0]} rows are not copied: they are dealt out by the hash of one key, or not at "
            "all; call choose without a kind"
        )


# -- slices ------------------------------------------------------------------------------------------------------------


def _sliceable(query: Query, sample: Sample) -> bool:
    moving = [name for name, stream in query.streams.items() if not stream.static]
    if not query.time_windows or counted(query) or not all(name in sample for name in moving):
        return False
    return any(len(sample[name][str(query.streams[name].time)]) for name in moving)


def _slices(query: Query, cells: int, rows: Mapping[str, float] | None, sample: Sample) -> Partitioning:
    """Slices of time with about as many events each, by the times of a sample."""
    if not query.time_windows or counted(query):
        raise EddyError(
            "slices can be chosen here only where windows end by time: with windows of rows, count the rows before "
            "each start and make the partitioning with eddy.partition.sliced(query, starts, counts)"
        )
    sizes, times = _sizes(query, rows), times_of(query, sample)
    if not sum(map(len, times.values())):
        raise EddyError("slices of time are chosen by a sample: pass sample= with rows of the streams")
    all_times = np.concatenate(list(times.values()))
    weight = np.concatenate([np.full(len(own), sizes[n] / max(1, len(own))) for n, own in times.items()])
    order = np.argsort(all_times, kind="stable")
    place = np.cumsum(weight[order]) / max(weight.sum(), 1e-300)
    at = np.searchsorted(place, np.arange(1, cells) / cells)
    starts = np.unique(all_times[order][np.minimum(at, len(order) - 1)])
    found = slices(query, [int(all_times.min()), *starts.tolist()])
    return _of_slices(query, found, rows, sample)


def sliced(
    query: Query, starts: Sequence[int], counts: Mapping[str, Sequence[int]] | None = None
) -> Partitioning:
    """A partitioning into slices that begin at these times, or event numbers where no window uses time.

    ``counts``: of each stream whose window counts rows, how many of its rows come before each start.
    """
    _check_inner(query)
    return _of_slices(query, slices(query, starts, counts), None, {})


def _of_slices(query: Query, found: Slices, rows: Mapping[str, float] | None, sample: Sample) -> Partitioning:
    sizes = _sizes(query, rows)
    got, times = np.zeros(len(found.starts)), times_of(query, sample)
    all_times = np.concatenate([np.empty(0, np.int64), *times.values()])
    for name, size in sizes.items():
        # Of a stream that the sample has nothing of, times are taken to be those of the others.
        own = times[name] if len(times.get(name, ())) else all_times
        if found.measures[name] == "static":
            got += size
        elif len(own) and found.measures[name] != "row":
            _, cells = found.reach(name, own, own)
            got += np.bincount(cells, minlength=len(got)) * (size / len(own))
        else:
            got += size / len(got)
    weighed = Weighed(query.names, (), sizes)
    load, sent = float(got.max()), float(got.sum())
    return Partitioning("slices", len(found.starts), query, weighed, (), found, rows is not None, load, sent)

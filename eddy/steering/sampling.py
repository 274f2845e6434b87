"""Index sampling: what joining a stream with others would give, from a few of its rows.

Rows of one stream, taken by chance, are looked up in the key directory of another, what came of it in that of a third,
and so on. Every stream has a directory under each of its key classes whatever the plan is, so this works for any path,
in the order of a hundred microseconds, and leaves no trace.

The answer is exact where all rows could be looked up. Else it is an estimate: of 256 rows, or of 2,048 where these find
next to nothing, of the first few thousand matches of a step, of a few hundred of these carried on to the next. Rows in
blacklists count as rows that find nothing and that nobody finds, as those do that a filter has ruled out.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from eddy.access import Access
from eddy.errors import EddyError
from eddy.plan.compiler import Compiler, Key, Place, StairId, Step
from eddy.steering.pair_kernels import count_pairs
from eddy.store.stream import StreamState
from eddy.tracks.theta import Theta, judge
from policies.view import Fan
from stairs.sample_kernels import count_alike, look_up, read_linked, read_row_keys

SAMPLE, WIDE = 256, 2048
"""Rows of a stream that are looked up; and if these find hardly anything."""
HARDLY = 32
"""Matches that are enough to go by."""
ENOUGH = 2048
"""Matches after which a step is not followed any further."""
CARRIED = 512
"""Matches that go on to the next step at the most."""
ALIKE = 256
"""Rows with one key that are counted at the most."""
REMEMBERED = 256
"""Paths whose matches are kept, so that longer ones can go on from there."""

Rows = NDArray[np.int64]


@frozen(eq=False)
class Trail:
    """Some of the matches after a step."""

    rows: Rows
    """A line for each, a column for each stream of the query."""
    weight: float
    """How many matches, for each row of the first stream, one of them stands for."""
    mean: float
    """Matches for each row of the first stream."""


def joined_pairs(compiler: Compiler) -> dict[tuple[int, int], Key]:
    """Pairs of streams, either way round, that one equality connects, and no other predicate of their own; by what."""
    decided = {reads for _, reads in compiler.residuals if len(reads) == 2}
    found = {}
    for a, b in itertools.permutations(range(len(compiler.names)), 2):
        shared = compiler.shared((a,), (b,))
        if len(shared) == 1 and frozenset((a, b)) not in decided:
            found[a, b] = Key(shared)
    return found


class Sampler:
    """Samples the streams as they are at one moment, between two batches."""

    def __init__(
        self,
        compiler: Compiler,
        streams: Sequence[StreamState],
        lows: Rows,
        counts: Rows,
        seed: tuple[int, int],
        nested: bool,
        shares: NDArray[np.float64],
        joined: dict[tuple[int, int], Key] | None = None,
    ) -> None:
        self._compiler = compiler
        self._streams = list(streams)
        self._lows, self._counts = lows.copy(), counts.copy()
        self._seed = seed
        self._nested = nested
        self._shares = shares
        """Of the rows in each window, how many are stored: those that are ruled out count as rows that find nothing."""
        self._joined = joined
        self._chosen: dict[tuple[int, int], tuple[Rows, NDArray[np.bool_]]] = {}
        self._trails: dict[tuple[int, ...], Trail] = {}
        self._means: dict[tuple[int, ...], float] = {}
        self._distinct: dict[tuple[int, int], int] = {}

    def sample(self, start: str, path: Sequence[str]) -> tuple[float, ...]:
        """Mean number of matches of the rows of ``start`` after each step of a path through other streams."""
        numbers = tuple(map(self._number, (start, *path)))
        if len(set(numbers)) < len(numbers):
            raise EddyError(f"a path goes through a stream once: {' '.join((start, *path))} does not")
        return tuple(self._mean(numbers[: i + 1]) for i in range(1, len(numbers)))

    def pairs(self, wanted: Collection[tuple[str, str]] | None = None) -> dict[tuple[str, str], Fan]:
        """What rows of each stream find in each other one, for all pairs that one equality connects, and no more; or
        for those of ``wanted`` pairs that are such."""
        names = self._compiler.names
        found = {}
        if self._joined is None:
            self._joined = joined_pairs(self._compiler)
        joined = self._joined
        if wanted is not None:
            pairs = [(self._number(one), self._number(other)) for one, other in wanted]
            joined = {pair: joined[pair] for pair in pairs if pair in joined}
        jobs = [
            (
                (a, b),
                (
                    self._streams[a].base.address,
                    self._streams[a].stair(key).address,
                    a,
                    self._streams[b].stair(key).address,
                    b,
                ),
            )
            for (a, b), key in joined.items()
        ]
        if jobs:
            limits = np.array(
                (SAMPLE // 2, WIDE // 4, HARDLY // 2, ENOUGH // 2)
            )  # each is seen from two sides
            first, events = self._seed
            seed = (first * 0x2545F4914F6CDD1D + events) & 0x7FFFFFFFFFFFFFFF
            table = np.array([job for _, job in jobs], np.int64)
            told = np.empty((len(jobs), 3))
            count_pairs(table, seed, self._lows, self._counts, limits, told)
            for ((a, b), _), (taken, total, squares) in zip(jobs, told.tolist(), strict=True):
                if taken:
                    # Where all were looked up it is exact; else, as if one row more had found one match.
                    mean = total / taken
                    spread = 0.0 if taken == self._live(a) else ((squares + 1) / taken - mean * mean) / taken
                    found[names[a], names[b]] = Fan(mean, max(spread, 0.0))
        return found

    def distinct(self, stream: int, c: int) -> int:
        """About how many values the live rows of a stream have in a key class.

        A row counts as one part of all rows with its key. Keys of very many rows are few, and counted as they come.
        """
        known = self._distinct.get((stream, c))
        if known is None:
            rows, linked = self._base(stream)
            keys, leaf = self._keys(stream, c, rows[linked]), self._streams[stream].stair(Key((c,)))
            alike = np.empty(len(keys), np.int64)
            count_alike(leaf.state, keys, int(self._lows[stream]), ALIKE, alike)
            rare = alike < ALIKE
            estimate = self._live(stream) * float((1 / alike[rare]).sum()) / max(1, len(rows)) + len(
                np.unique(keys[~rare])
            )
            known = self._distinct[stream, c] = round(estimate)
        return known

    def _number(self, name: str) -> int:
        try:
            return self._compiler.number[name]
        except KeyError:
            raise EddyError(
                f"{name!r} is no stream of the query: it has {', '.join(self._compiler.names)}"
            ) from None

    def _mean(self, path: tuple[int, ...]) -> float:
        known = self._means.get(path)
        if known is None:
            known = self._means[path] = self._trail(path).mean
        return known

    def _trail(self, path: tuple[int, ...]) -> Trail:
        """The matches after the last step of a path."""
        found = self._trails.pop(path, None)
        if found is None and len(path) == 1:
            found = self._begin(path[0])
        elif found is None:
            found = self._step(self._trail(path[:-1]), path)
            if len(path) == 2 and len(found.rows) < HARDLY and self._live(path[0]) > SAMPLE:
                found = self._step(self._begin(path[0], WIDE), path)
        self._trails[path] = found  # the last one now
        if len(self._trails) > REMEMBERED:
            del self._trails[next(iter(self._trails))]
        return found

    # -- rows ------------------------------------------------------------------------------------------------------

    def _live(self, stream: int) -> int:
        return int(self._counts[stream] - self._lows[stream])

    def _base(self, stream: int, size: int = SAMPLE) -> tuple[Rows, NDArray[np.bool_]]:
        """Live rows by chance, in an order by chance, and which of them can join; all of them if they are few."""
        known = self._chosen.get((stream, size))
        if known is None:
            chances = np.random.default_rng((*self._seed, stream)).random(size)
            live = self._live(stream)
            rows = np.argsort(chances[:live]) if live <= size else (chances * live).astype(np.int64)
            rows += int(self._lows[stream])
            linked = np.empty(len(rows), np.bool_)
            read_linked(self._streams[stream].base.state, rows, linked)
            known = self._chosen[stream, size] = rows, linked
        return known

    def _begin(self, stream: int, size: int = SAMPLE) -> Trail:
        chosen, linked = self._base(stream, size)
        rows = np.zeros((int(linked.sum()), len(self._streams)), np.int64)
        rows[:, stream] = chosen[linked]
        weight = float(self._shares[stream]) / max(1, len(chosen))
        return Trail(rows, weight, len(rows) * weight)

    def _keys(self, stream: int, c: int, rows: Rows) -> Rows:
        keys = np.empty(len(rows), np.int64)
        read_row_keys(self._streams[stream].stair(Key((c,))).state, np.ascontiguousarray(rows), keys)
        return keys

    # -- steps -----------------------------------------------------------------------------------------------------

    def _step(self, trail: Trail, path: tuple[int, ...]) -> Trail:
        """From matches to those with a row of one more stream."""
        *visited, target = path
        if len(trail.rows) == 0:
            return Trail(trail.rows, trail.weight, 0.0)
        source = tuple(sorted(visited))
        key, theta = self._compiler.probe_key(source, (target,))
        step = self._compiler.step(Place(source, key), StairId((target,), key), theta)
        residuals = step.residuals
        found = self._equal(trail, step) if key.classes else None
        if found is None and theta is not None:
            found = self._in_range(trail, step)
            residuals = (theta, *residuals)
        which, rows, weight = self._pairs(trail, target) if found is None else found
        matches = trail.rows[which]
        matches[:, target] = rows
        for residual in residuals:
            matches = matches[judge(residual, matches, self._streams)]
        mean = len(matches) * weight
        if len(matches) > CARRIED:
            weight *= len(matches) / CARRIED
            matches = matches[np.arange(CARRIED) * len(matches) // CARRIED]
        return Trail(matches, weight, mean)

    def _equal(self, trail: Trail, step: Step) -> tuple[Rows, Rows, float]:
        """By the directory of one key class; the other classes are compared."""
        (target,), classes = step.target.streams, step.target.key.classes
        best = classes[0] if len(classes) == 1 else max(classes, key=lambda c: self.distinct(target, c))
        carrier = {c: next(s for s in step.source.streams if s in self._compiler.classes[c]) for c in classes}
        keys = self._keys(carrier[best], best, trail.rows[:, carrier[best]])
        which, rows = np.empty((2, 2 * ENOUGH), np.int64)
        taken = np.empty(1, np.int64)
        leaf, low = self._streams[target].stair(Key((best,))), int(self._lows[target])
        count = look_up(leaf.state, keys, low, ENOUGH, which, rows, taken)
        stored = min(count, len(rows))
        weight = trail.weight * len(keys) / int(taken[0]) * count / max(1, stored)
        which, rows = which[:stored], rows[:stored]
        for c in classes:
            if c != best:
                same = self._keys(carrier[c], c, trail.rows[which, carrier[c]]) == self._keys(target, c, rows)
                which, rows = which[same], rows[same]
        return which, rows, weight

    def _in_range(self, trail: Trail, step: Step) -> tuple[Rows, Rows, float] | None:
        """By the sorted index; None if there is none, or if one range has too many rows."""
        theta, (target,) = Theta(step, self._streams, self._nested), step.target.streams
        if theta.index is None:
            return None
        which, rows, more = theta.index.candidates(*theta.bounds(trail.rows), limit=ENOUGH)
        taken = len(trail.rows)
        if more is not None:  # the last one is not complete
            taken = int(which[-1])
            which, rows = which[which < taken], rows[which < taken]
        if taken == 0:
            return None
        linked = np.empty(len(rows), np.bool_)
        read_linked(self._streams[target].base.state, rows, linked)
        linked &= rows >= self._lows[target]
        return which[linked], rows[linked], trail.weight * len(trail.rows) / taken

    def _pairs(self, trail: Trail, target: int) -> tuple[Rows, Rows, float]:
        """Each match with rows of the target by chance: as many as there is time for."""
        chosen, linked = self._base(target)
        each = min(len(chosen), max(1, 2 * ENOUGH // len(trail.rows)))
        which = np.repeat(np.arange(len(trail.rows)), each)
        at = np.arange(len(which)) % max(1, len(chosen))
        which, at = which[linked[at]], at[linked[at]]
        return which, chosen[at], trail.weight * self._live(target) / max(1, each)


class Sampling:
    """Samples an engine's rows as they are when it is asked, in whatever thread that is.

    ``make`` makes a sampler of the rows as they are, which serves until there is another ``moment``.
    """

    def __init__(self, access: Access, moment: Callable[[], object], make: Callable[[], Sampler]) -> None:
        self._access, self._moment, self._make = access, moment, make
        self._made = moment(), make()

    def sample(self, start: str, path: Sequence[str]) -> tuple[float, ...]:
        """As `Sampler.sample`."""
        return self._access.ask(lambda: self._now().sample(start, path))

    def pairs(self, wanted: Collection[tuple[str, str]] | None = None) -> dict[tuple[str, str], Fan]:
        """As `Sampler.pairs`."""
        return self._access.ask(lambda: self._now().pairs(wanted))

    def distinct(self, stream: int, c: int) -> int:
        """As `Sampler.distinct`."""
        return self._access.ask(lambda: self._now().distinct(stream, c))

    def _now(self) -> Sampler:
        moment = self._moment()
        if moment != self._made[0]:  # rows that it knows of may be gone, and others in their places
            self._made = moment, self._make()
        return self._made[1]


class Distinct(Mapping[tuple[str, int], int]):
    """Distinct values by stream and key class, counted when somebody asks."""

    def __init__(
        self, known: Mapping[tuple[str, int], tuple[int, int]], count: Callable[[int, int], int]
    ) -> None:
        self._known = known
        self._count = count

    def __getitem__(self, key: tuple[str, int]) -> int:
        return self._count(*self._known[key])

    def __iter__(self) -> Iterator[tuple[str, int]]:
        return iter(self._known)

    def __len__(self) -> int:
        return len(self._known)

    def __repr__(self) -> str:
        return repr(dict(self))

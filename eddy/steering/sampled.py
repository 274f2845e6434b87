"""What a view offers of samples: they are taken when it is asked, of the engine as it was when the view was made."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

from eddy.access import Access
from eddy.steering.groups import GroupSampler
from policies.view import Fan


class Sampling:
    """Samples an engine's rows as they are when it is asked, in whatever thread that is.

    ``make`` makes a sampler of the rows as they are, which serves until there is another ``moment``.
    """

    def __init__(
        self, access: Access, moment: Callable[[], object], make: Callable[[], GroupSampler]
    ) -> None:
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

    def heavy(self, start: str, target: str) -> tuple[str, tuple[int, ...]] | None:
        """As `GroupSampler.heavy`."""
        return self._access.ask(lambda: self._now().heavy(start, target))

    def share(self, start: str, column: str, values: tuple[int, ...]) -> float:
        """As `GroupSampler.share`."""
        return self._access.ask(lambda: self._now().share(start, column, values))

    def sample_group(
        self, start: str, column: str, values: tuple[int, ...], inside: bool, path: Sequence[str]
    ) -> tuple[float, ...]:
        """As `GroupSampler.sample_group`."""
        return self._access.ask(lambda: self._now().sample_group(start, column, values, inside, path))

    def _now(self) -> GroupSampler:
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

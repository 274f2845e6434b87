"""Queries that are run together: those of one core, or one that shares nothing but the streams."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any

from attrs import frozen

from eddy.engine.eddy import EngineOver
from eddy.engine.passing import passed
from eddy.engine.pushing import push_in_order, take
from eddy.inspect.collect import bytes_held
from eddy.intake.intake import Arrivals
from eddy.results.result import Result
from eddy.several.feed import Admitted
from eddy.state import EngineState

Makers = Mapping[str, Callable[[], Result]]
"""What finds the results of each query of a group."""


@frozen(eq=False)
class Batches:
    """Rows of which nothing is left to be checked: kernels may take them in by themselves."""

    columns: dict[str, dict[str, Any]]


class Group(ABC):
    """Some queries and the engine that runs them."""

    engine: EngineOver
    before: Mapping[str, int] = {}
    """Rows of each stream of which its engine knows nothing, and which it does not count."""

    @property
    def state(self) -> EngineState:
        """What the engine holds."""
        return self.engine.state

    @property
    @abstractmethod
    def names(self) -> tuple[str, ...]:
        """The queries."""

    @abstractmethod
    def admit(self, admitted: Admitted) -> Arrivals | Batches | None:
        """Check a push; None: none of its streams is used here."""

    def take(self, arrivals: Arrivals | Batches, crowded: bool = False) -> Makers:
        """Process what was admitted; ``crowded``: others come after it, before anybody reads the results."""
        if isinstance(arrivals, Batches):
            return self.given(push_in_order(self.state, arrivals.columns, None))
        return self.given(take(self.state, arrivals, None))

    def passed(self, time: int) -> Makers:
        """Time goes on to ``time``, in the unit of the query, without rows."""
        return self.given(passed(self.state, time, None))

    @abstractmethod
    def given(self, result: Any) -> Makers:
        """What the engine has given, by query."""

    @abstractmethod
    def lows(self) -> dict[str, int]:
        """For each stream the first row that somebody here may ask the feed for."""

    def live(self) -> dict[str, int]:
        """For each stream the first row that a window holds."""
        state = self.state
        lows = dict(zip(state.query.names, state.lowwater.lows.tolist(), strict=True))
        if state.attached is not None:
            attached = zip(state.attached.streams, state.attached.lowwater.lows.tolist(), strict=True)
            lows.update((stream.name, low) for stream, low in attached)
        return {name: low + self.before.get(name, 0) for name, low in lows.items()}

    def seen(self) -> dict[str, int]:
        """The same of rows that a query sees: older ones may be held of queries that were dropped."""
        return self.live()

    @property
    def nbytes(self) -> int:
        """Bytes that it holds, with its composites."""
        executor = self.state.executor
        composites = sum(stair.nbytes for router in executor.routers for stair in router.every_stair)
        return bytes_held(self.state) + composites

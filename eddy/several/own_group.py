"""A query that shares no core: of a set difference, or with joins that are attached."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from eddy.engine.build import House, build, started, steered
from eddy.engine.eddy import EngineOver
from eddy.engine.options import checked
from eddy.engine.pushing import prepare
from eddy.intake.intake import Arrivals
from eddy.query.query import Query
from eddy.several.feed import Admitted, Feed
from eddy.several.group import Group, Makers
from eddy.several.replay import replay
from eddy.state import EngineState


class OwnGroup(Group):
    """A query that shares no core: of a set difference, or with joins that are attached. Its engine keeps its rows."""

    def __init__(
        self, name: str, query: Query, plan: str | None, options: Mapping[str, Any], house: House
    ) -> None:
        self.name, self.query = name, query
        state = build(checked(query, plan, **options), plan, house=House(house.access))
        self.engine = EngineOver(started(steered(state)))

    @classmethod
    def over(cls, name: str, state: EngineState, before: Mapping[str, int]) -> OwnGroup:
        """A query whose engine was loaded."""
        group = cls.__new__(cls)
        group.name, group.query, group.before = name, state.options.query, before
        group.engine = EngineOver(started(state))
        return group

    @property
    def names(self) -> tuple[str, ...]:
        return (self.name,)

    def admit(self, admitted: Admitted) -> Arrivals | None:
        batches = {name: found for name, found in admitted.columns.items() if name in self.query.streams}
        if not batches:
            return None
        prepare(self.state)
        return self.state.intake.admit({name: dict(found) for name, found in batches.items()})

    def given(self, result: Any) -> Makers:
        return {self.name: lambda: result}

    def lows(self) -> dict[str, int]:
        return self.live()

    def begin(self, feed: Feed, firsts: Mapping[str, int]) -> None:
        """Take in the rows that are there already, from ``firsts`` on, as they came; what they bring is past."""
        self.before = dict(firsts)
        replay(self.state, feed, self.query, firsts)

"""What the server runs: an engine, or black boxes; and what they say of the work that they have done."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from attrs import define, field, frozen

import eddy
from policies import Migration


@frozen
class Look:
    """What was done so far, and what there is now."""

    evaluations: int
    """Predicates that were evaluated: pairs of tuples that were looked at."""
    made: int
    """Tuples that were put somewhere: rows into their streams' states, composites into theirs, results into the
    output."""
    tuples: int
    """Composites that states hold."""
    migrating: bool


class Subject(Protocol):
    """What is served."""

    def push(self, batch: Mapping[str, Any]) -> int:
        """Rows arrive, or none where there is time to spare; returns how many results they bring."""

    def migrate(self, plan: str) -> None:
        """Begin to change the plan."""

    def look(self) -> Look:
        """See how far it is."""


@frozen(eq=False)
class EngineSubject:
    """An engine, by nested loops, as in the papers."""

    engine: eddy.Eddy

    @classmethod
    def of(cls, query: eddy.Query, plan: str, technique: Migration) -> EngineSubject:
        return cls(eddy.Eddy(query, plan=plan, migration=technique, joins="nested"))

    def push(self, batch: Mapping[str, Any]) -> int:
        return len(self.engine.push_all(batch))

    def migrate(self, plan: str) -> None:
        self.engine.migrate(plan)

    def look(self) -> Look:
        return _look(self.engine)


class EngineBox(Protocol):
    """A black box that has an engine inside."""

    engine: eddy.Eddy

    def push_all(self, batches: Mapping[str, Any], /) -> Any: ...


@define(eq=False)
class BoxSubject:
    """Black boxes; the work of all of them counts, also of those that are to take over."""

    boxes: eddy.Boxes[Any]
    _make: Callable[[str], EngineBox]
    _made: list[EngineBox] = field(factory=list)

    @classmethod
    def of(
        cls, make: Callable[[str], EngineBox], query: eddy.Query, width: int, plan: str, technique: Migration
    ) -> BoxSubject:
        """``width``: how far the operator on top of the joins looks back."""
        first = make(plan)
        return cls(eddy.Boxes(first, query.streams, eddy.Range(width), technique), make, [first])

    def push(self, batch: Mapping[str, Any]) -> int:
        return len(self.boxes.push_all(batch))

    def migrate(self, plan: str) -> None:
        def new() -> EngineBox:
            self._made.append(self._make(plan))
            return self._made[-1]

        self.boxes.migrate(new)

    def look(self) -> Look:
        looks = [_look(box.engine) for box in self._made]
        migrating = self.boxes.migrating
        used = looks if migrating else looks[-1:]
        return Look(
            sum(look.evaluations for look in looks),
            sum(look.made for look in looks),
            sum(look.tuples for look in used),
            migrating,
        )


def _look(engine: eddy.Eddy) -> Look:
    told = engine.statistics()
    return Look(
        told.evaluations,
        told.events + told.matched + told.composites_filled,
        sum(stair.live for stair in told.stairs),
        bool(told.history) and told.history[-1].ended is None,
    )

"""An engine that does what a paper prints, and counts what that loses, repeats and invents."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any, Literal, Protocol

from attrs import frozen

from eddy.engine.eddy import Eddy
from eddy.engine.factory import Factory
from eddy.errors import PlanError, PolicyError, QueryError
from eddy.intake.intake import Arrivals, Intake
from eddy.intake.lowwater import LowWater
from eddy.plan.plan import Join
from eddy.printed.hybmig import PrintedHybMig
from eddy.printed.jisc import PrintedJisc
from eddy.printed.jit import PrintedJit
from eddy.printed.tree import Composite, Row
from eddy.query.query import Query
from policies import HybMig, Jisc, Mns

Rows = tuple[int, ...]
"""A result: the number of its row of each stream, in the order of the query."""


@frozen
class Account:
    """Results since the beginning."""

    given: int
    """What the printed algorithm gave, all counted."""
    due: int
    """What the query asks for."""
    lost: int
    """Results that were due and not given."""
    repeated: int
    """Times that a result was given again."""
    false: int
    """Given, and never due: some row had left its window, or did not match."""

    @property
    def exact(self) -> bool:
        """Whether everything was given once, and nothing else."""
        return not (self.lost or self.repeated or self.false)


class Algorithm(Protocol):
    """A printed algorithm, given one row at a time."""

    def arrive(self, row: Row) -> list[Composite]: ...

    def expire(self, row: Row) -> None: ...

    def work(self) -> None: ...


class AsPrinted:
    """Runs a join of equalities by a technique as its paper prints it: ``Jisc(literal=True)``, ``HybMig(literal=True)``
    or ``Mns(literal=True)``.

    `push`, `push_all` and `migrate` are those of `Eddy`, but a push returns a list of row numbers, and not always the
    right ones: `account` compares them with what an `Eddy` gives. It takes one row at a time, in Python.

    ``fresh`` is for JISC, which prints two rules for when a row is no longer fresh: after another of its key from its
    ``"own"`` stream (section 4.4), or from ``"any"`` (Definition 2).
    """

    def __init__(
        self, query: Query, plan: str, technique: Jisc | HybMig | Mns, fresh: Literal["own", "any"] = "own"
    ) -> None:
        if not isinstance(technique, (Jisc, HybMig, Mns)) or not technique.literal:
            raise PolicyError(
                "AsPrinted runs Jisc(literal=True), HybMig(literal=True) or Mns(literal=True); "
                f"give {technique!r} to an Eddy"
            )
        if fresh not in ("own", "any") or (fresh == "any" and not isinstance(technique, Jisc)):
            raise PolicyError(f'fresh is "own", or for Jisc(literal=True) "any"; not {fresh!r}')
        if query.residuals or query.base is not None or query.signed or query.attachments:
            raise QueryError(
                "AsPrinted runs joins of equalities: no other predicates, differences, aggregates or attachments"
            )
        self.query, self._exact = query, Eddy(query, plan)
        factory = Factory(query, "hash")
        self._parse = factory.parse
        self._intake = Intake(query, factory.pool, factory.stored)
        self._windows = LowWater(*factory.windows())
        self._live: list[list[Row]] = [[] for _ in query.names]
        self._counts = [0] * len(query.names)
        self._events = 0
        self._given: Counter[Rows] = Counter()
        self._due: Counter[Rows] = Counter()
        self._algorithm = self._made(technique, self._tree(plan), fresh)

    def _made(self, technique: Jisc | HybMig | Mns, plan: Join, fresh: str) -> Any:
        number = {name: i for i, name in enumerate(self.query.names)}
        classes = {c.index: frozenset(number[name] for name in c.members) for c in self.query.key_classes}
        if isinstance(technique, Jisc):
            return PrintedJisc(plan, number, len(classes), fresh == "any")
        if isinstance(technique, HybMig):
            return PrintedHybMig(plan, number, technique.background > 0)
        return PrintedJit(plan, number, classes)

    def _tree(self, plan: str) -> Join:
        parsed = self._parse(plan)
        if not isinstance(parsed, Join):
            raise PlanError("the papers print their algorithms for trees, such as (A B) C")
        return parsed

    def push(self, stream: str, batch: Any) -> list[Rows]:
        """Rows of one stream arrive; returns what the printed algorithm gives."""
        return self.push_all({stream: batch})

    def push_all(self, batches: Mapping[str, Any]) -> list[Rows]:
        """Rows of several streams arrive, merged by time; returns what the printed algorithm gives."""
        self._due.update(tuple(line) for line in self._exact.push_all(batches).rows.tolist())
        arrivals = self._intake.admit(batches)
        self._intake.accept(arrivals)
        found = self._run(arrivals)
        self._algorithm.work()
        self._given.update(found)
        return found

    def migrate(self, plan: str) -> None:
        """Change the plan, as the technique has it printed."""
        if isinstance(self._algorithm, PrintedJit):
            raise PlanError(
                "JIT has no rule for plan changes: give Jisc(literal=True) or HybMig(literal=True)"
            )
        self._algorithm.migrate(self._tree(plan), self._events)

    @property
    def account(self) -> Account:
        """What was given so far, and what was due."""
        given, due = self._given, self._due
        return Account(
            given=given.total(),
            due=due.total(),
            lost=(due - given).total(),
            repeated=sum(count - 1 for rows, count in given.items() if rows in due),
            false=sum(count for rows, count in given.items() if rows not in due),
        )

    def _run(self, arrivals: Arrivals) -> list[Rows]:
        """One event after the other: what leaves its window goes first, then the row comes in."""
        marks, _, _ = self._windows.advance(arrivals.streams, arrivals.times)
        order: list[tuple[Row, bool]] = [None] * len(arrivals.streams)  # type: ignore[list-item]
        for part in arrivals.parts:
            kept = [1] * len(part.events) if part.kept is None else part.kept.tolist()
            for i, place in enumerate(part.events.tolist()):
                keys = {key: int(values[i]) for key, values in part.keys.items()}
                row = Row(part.stream, self._counts[part.stream] + i, self._events + place, keys)
                order[place] = row, bool(kept[i])
            self._counts[part.stream] += len(part.events)
        self._events += len(order)
        found: list[Rows] = []
        for lows, (row, passes) in zip(marks.tolist(), order, strict=True):
            for stream, low in enumerate(lows):
                while self._live[stream] and self._live[stream][0].number < low:
                    self._algorithm.expire(self._live[stream].pop(0))
            if passes:
                self._live[row.stream].append(row)
                for composite in self._algorithm.arrive(row):
                    rows = sorted(composite.rows, key=lambda own: own.stream)
                    found.append(tuple(own.number for own in rows))
        return found

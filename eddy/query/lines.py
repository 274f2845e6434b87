"""Joins in parentheses, and behind commas, as one line of joins of one stream each, by what is the same in SQL.

    A LEFT JOIN (B LEFT JOIN C ON p) ON q    as  A LEFT JOIN B ON q LEFT JOIN C ON p, if p is never true where B is NULL
    A LEFT JOIN (B JOIN C ON p) ON q         as  B JOIN C ON p RIGHT JOIN A ON q
    A JOIN D ON r LEFT JOIN (B JOIN C ON p) ON q as  B JOIN C ON p RIGHT JOIN A ON q JOIN D ON r, if q does not read D
    A JOIN (B FULL JOIN C ON p) ON q         as  B FULL JOIN C ON p JOIN A ON q
    A, B RIGHT JOIN C ON p                   as  B RIGHT JOIN C ON p CROSS JOIN A

So may be RIGHT and FULL JOIN behind what is late (`settled`): results are final where nothing late stands before them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from attrs import define, evolve
from sqlglot import exp

from eddy.errors import QueryError
from eddy.query.attaching import KINDS, kind_of
from eddy.query.attachment import FullJoin, LeftJoin, RightJoin
from eddy.query.nulls import rejects
from eddy.query.place import about
from eddy.query.steps import Group, Link, Step, conjuncts_of, is_comma

OUTER = LeftJoin, RightJoin, FullJoin
Owner = Callable[[exp.Column], str]
"""The stream of a column."""


@define
class Line:
    """Puts links in one line."""

    owner: Owner

    def of(self, links: Sequence[Link]) -> list[Link]:
        """The same streams, each with its join with those before it; the first has none."""
        return [step.link() for step in self._line(links)]

    def _line(self, links: Sequence[Link]) -> list[Step]:
        """A comma binds less tightly than JOIN."""
        runs: list[list[Step]] = []
        for source, join in links:
            right = self._line(source.links) if isinstance(source, Group) else [Step(source, None, [], None)]
            if join is None or is_comma(join):
                runs.append(right)
            else:
                runs[-1] = self._joined(runs[-1], right, join)
        line = runs[0]
        for run in runs[1:]:
            line = self._inner(line, run, [], None)
        return line

    def _joined(self, left: list[Step], right: list[Step], join: exp.Join) -> list[Step]:
        kind, condition = KINDS.get(kind_of(join)), join.args.get("on")
        on = [] if condition is None else conjuncts_of(condition)
        if len(right) == 1:
            return self._settled([*left, evolve(right[0], kind=kind, on=[*right[0].on, *on], join=join)])
        if kind is None:
            return self._inner(left, right, on, join)
        if kind is LeftJoin:
            return self._left(left, right, on, join)
        if kind is RightJoin:
            return self._left(right, left, on, join)
        if kind is FullJoin:
            return self._full(left, right, on, join)
        text = f"{kind_of(join)} JOIN"
        raise about(
            right[0].table,
            QueryError(
                f"{text} takes one stream on its right, not a join: run that in an engine of its own, and push its "
                "results as a stream"
            ),
        )

    def _inner(
        self, left: list[Step], right: list[Step], on: list[exp.Expr], join: exp.Join | None
    ) -> list[Step]:
        left, right = self._reduced(left, on), self._reduced(right, on)
        for first, then in ((left, right), (right, left)):
            given = {step.name for step in then if step.kind is not None and step.kind.pairs}
            if not any(step.keeps_right for step in then) and not given & self._read(on):
                own = [evolve(then[0], kind=None, join=join), *then[1:]]
                return self._settled([*first, *self._shared_out(own, on)])
        raise self._refused(right, join)

    def _left(self, left: list[Step], right: list[Step], on: list[exp.Expr], join: exp.Join) -> list[Step]:
        """``left`` LEFT JOIN ``right``."""
        right, behind = self._hoisted(self._reduced(right, on), on)
        if len(right) == 1:
            own = evolve(right[0], kind=LeftJoin, on=on, join=join)
            return self._settled([*left, own, *behind])
        left = self._begun(left, on)
        if not left:
            raise self._refused(right, join)
        own = evolve(left[0], kind=RightJoin, on=on, join=join, turned=True)
        return self._settled([*right, own, *left[1:], *behind])

    def _full(self, left: list[Step], right: list[Step], on: list[exp.Expr], join: exp.Join) -> list[Step]:
        right, behind = self._hoisted(right, on)
        turned = len(right) > 1
        if turned:
            left, more = self._hoisted(left, on)
            left, right, behind = right, left, [*more, *behind]
        if len(right) > 1:
            raise self._refused(left, join)
        own = evolve(right[0], kind=FullJoin, on=on, join=join, turned=turned)
        return self._settled([*left, own, *behind])

    # -- what is the same ------------------------------------------------------------------------------------------

    def _reduced(self, steps: list[Step], on: Iterable[exp.Expr]) -> list[Step]:
        """Outer joins that give no row with NULLs which a condition behind them lets through, as what they are then."""
        said, found = list(on), []
        for place in range(len(steps) - 1, -1, -1):
            step = steps[place]
            if step.kind in OUTER:
                lost_left = self._rejects(said, [step])
                lost_right = self._rejects(said, steps[:place])
                keeps_left = step.kind is not RightJoin and not lost_left
                keeps_right = step.kind is not LeftJoin and not lost_right
                kinds = {(True, True): FullJoin, (True, False): LeftJoin, (False, True): RightJoin}
                step = evolve(step, kind=kinds.get((keeps_left, keeps_right)))
            if step.kind is None:
                said += step.on
            found.append(step)
        return self._settled(found[::-1])

    def _hoisted(self, steps: list[Step], on: Sequence[exp.Expr]) -> tuple[list[Step], list[Step]]:
        """The last LEFT JOINs, which may as well be made behind a join by such a condition; those before them."""
        at = len(steps)
        while at > 1 and steps[at - 1].kind is LeftJoin and steps[at - 1].name not in self._read(on):
            if not self._rejects(steps[at - 1].on, steps[: at - 1]):
                break
            at -= 1
        return steps[:at], steps[at:]

    def _begun(self, steps: list[Step], on: Sequence[exp.Expr]) -> list[Step]:
        """The same with the one stream first that a condition reads; none if there are several, or it cannot be."""
        if len(steps) == 1:
            return steps
        inner = 1
        while inner < len(steps) and steps[inner].kind is None:
            inner += 1
        read = [step for step in steps if step.name in self._read(on)]
        first = read[0] if read else steps[0]
        if len(read) > 1 or first not in steps[:inner] or any(step.keeps_right for step in steps):
            return []
        if first is steps[0]:
            return steps
        others = [evolve(step, on=[], join=None) for step in steps[:inner] if step is not first]
        said = [part for step in steps[:inner] for part in step.on]
        return [evolve(first, on=[]), *self._shared_out(others, said), *steps[inner:]]

    def _settled(self, steps: list[Step]) -> list[Step]:
        """The same where RIGHT and FULL JOIN do not stand behind what is late, if that can be."""
        place = 0
        while place < len(steps):
            if steps[place].keeps_right and any(step.late for step in steps[:place]):
                steps = [*self._turned(steps[:place], steps[place]), *steps[place + 1 :]]
            place += 1
        return steps

    def _turned(self, before: list[Step], keeper: Step) -> list[Step]:
        """A join that keeps the right side, before such as are late."""
        if keeper.kind is RightJoin:
            before = self._reduced(before, keeper.on)
        if before[1].kind is RightJoin:
            first, second = before[:2]
            first = evolve(first, kind=LeftJoin, on=second.on, join=second.join)
            before = [evolve(second, kind=None, on=[], join=None), first, *before[2:]]
        kept, moved = [*before], list[Step]()
        for step in reversed(before[1:]):
            others = [part for one in kept[kept.index(step) + 1 :] for part in one.on]
            if step.kind is LeftJoin and step.name not in self._read([*keeper.on, *others]):
                if self._rejects(step.on, [one for one in before if one is not step]):
                    kept.remove(step)
                    moved.insert(0, step)
        if keeper.kind is RightJoin and len(kept) == 1:
            own = evolve(kept[0], kind=LeftJoin, on=keeper.on, join=keeper.join)
            return [evolve(keeper, kind=None, on=[], join=None), own, *moved]
        return [*kept, keeper, *moved]

    def _shared_out(self, steps: list[Step], on: Sequence[exp.Expr]) -> list[Step]:
        """These steps, which inner joins are among, with conditions, each where all that it reads is there."""
        steps = [evolve(step, on=[*step.on]) for step in steps]
        for part in on:
            read = self._read([part])
            inner = [step for step in steps if step.kind is None]
            at = max((i for i, step in enumerate(inner) if step.name in read), default=0)
            inner[at].on.append(part)
        return steps

    # -- what is read ----------------------------------------------------------------------------------------------

    def _read(self, parts: Iterable[exp.Expr]) -> set[str]:
        return {self.owner(column) for part in parts for column in part.find_all(exp.Column)}

    def _rejects(self, on: Iterable[exp.Expr], steps: Sequence[Step]) -> bool:
        """Whether conditions are never true where all of these streams are NULL."""
        names = {step.name for step in steps}
        return any(rejects(part, lambda column: self.owner(column) in names) for part in on)

    def _refused(self, right: Sequence[Step], join: exp.Join | None) -> QueryError:
        text = "a comma" if join is None else f"{kind_of(join)} JOIN".strip()
        node = right[0].table if join is None or join.this is None else join.this
        return about(
            node,
            QueryError(
                f"{text} with joins on both sides, which keep rows that have no partner or are read together by ON, "
                "cannot be put in one line: run the join on its right in an engine of its own, and push its results "
                "as a stream"
            ),
        )

"""Windows that follow from predicates: how long a row can still become part of a result.

Predicates such as `clicks.ts BETWEEN ads.ts AND ads.ts + INTERVAL '10' MINUTE` are *difference constraints*: the value
of one column less that of another is at most a number. Shortest paths give all that follow from them. The *reach* of a
stream is the furthest that the time of a row of any stream can be above that of its own in a result: when time has gone
beyond that, a row is in no result to come. A window of that width loses nothing, and a shorter one may. Other columns,
of any stream, may stand in between.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction

from eddy.query.attachment import Attachment
from eddy.query.bands import Half, halves
from eddy.query.clock import Clock
from eddy.query.expressions import Expression, Reference
from eddy.query.logic import conjuncts
from eddy.query.stream import Stream
from eddy.query.windows import Range, Sliding, Tumbling, Unbounded
from eddy.values.durations import duration_text
from eddy.values.types import UNITS

Node = Expression
Distances = dict[Node, dict[Node, int]]
"""What the value of the second less that of the first is at most; nothing where there is no bound."""

_LIMIT = 2**62


def windows_allowed(
    streams: Mapping[str, Stream], clock: Clock | None, predicates: Iterable[Expression]
) -> dict[str, Range]:
    """For each stream of which predicates bound the reach, the window that loses nothing, whatever others have."""
    if clock is None:
        return {}
    times = {
        name: Reference(name, stream.time, stream.columns[stream.time])
        for name, stream in streams.items()
        if stream.time is not None
    }
    bounds = _bounds(predicates)
    if not bounds:
        return {}
    found = {}
    for name, time in times.items():
        reached = _shortest(bounds, time)
        if all(other in reached for other in times.values()):
            width = max(0, *(reached[other] for other in times.values()))
            if width < _LIMIT:
                found[name] = _window(clock, width)
    return found


def windows_of_all(
    streams: Mapping[str, Stream],
    clock: Clock | None,
    predicates: Sequence[Expression],
    attached: Sequence[Attachment],
) -> dict[str, Range]:
    """The same where streams are attached to others, of which each then counts with those that its condition reads.

    A stream that an outer join has no row of bounds nothing. So a path from one stream of the core to another goes by
    predicates of the core alone; from or to an attached one also by its own condition, and by the conditions of those
    that this reads, without which it does not hold.
    """
    if clock is None or not attached:
        return windows_allowed(streams, clock, predicates)
    outside = {one.stream for one in attached}
    core = {name: stream for name, stream in streams.items() if name not in outside}
    groups = [(core, list(predicates))] if len(core) > 1 else []
    for i, one in enumerate(attached):
        read = {stream for part in one.on for stream in part.streams}
        said = [*predicates, *one.on]
        for other in reversed(attached[:i]):
            if other.stream in read:
                read |= {stream for part in other.on for stream in part.streams}
                said += other.on
        groups.append(({name: s for name, s in streams.items() if name in core or name in read}, said))
    found: dict[str, Range] = {}
    for name in streams:
        own = [windows_allowed(group, clock, said).get(name) for group, said in groups if name in group]
        widths = [window for window in own if window is not None]
        if widths and len(widths) == len(own):
            found[name] = max(widths, key=lambda w: clock.width(name, w.width, w, False))
    return found


def is_shorter(stream: Stream, name: str, allowed: Range, clock: Clock) -> bool:
    """Whether a declared window of time is shorter than the one that loses nothing; one of panes is, since there are
    times at which it has just begun."""
    if isinstance(stream.window, Tumbling) and stream.window.time is not None:
        return clock.width(name, allowed.width, allowed, False) > 0
    if not isinstance(stream.window, (Range, Sliding)):
        return False
    own, other = (clock.width(name, window.width, window, False) for window in (stream.window, allowed))
    return own < other


def follows(stream: Stream) -> bool:
    """Whether a stream takes the window that follows from predicates: it has been given none."""
    return isinstance(stream.window, Unbounded) and not stream.window.declared and not stream.static


def _bounds(predicates: Iterable[Expression]) -> Distances:
    """What predicates say of two columns each, in nanoseconds or in whole numbers."""
    found: Distances = {}
    for predicate in predicates:
        for part in conjuncts(predicate):
            for half in () if _rounds(part) else halves(part) or ():
                for above, below, most in _difference(half):
                    _bound(found, below, above, most)
    return found


def _rounds(expression: Expression) -> bool:
    """Whether any of it is computed in floats, which may be off by a little."""
    if not isinstance(expression, Reference) and expression.type.kind == "float":
        return True
    return expression.type.kind == "float" or any(map(_rounds, expression.children))


def _difference(half: Half) -> Iterator[tuple[Node, Node, int]]:
    """`above - below <= most`, if a half says that of two columns."""
    if len(half.terms) != 2 or {sign for sign, _ in half.terms} != {1, -1}:
        return
    (above,) = (term for sign, term in half.terms if sign > 0)
    (below,) = (term for sign, term in half.terms if sign < 0)
    units = [term.expression.type.unit for term in (above, below)]
    scale = Fraction(1)
    if units[0] is not None:
        scale = Fraction(UNITS["ns"], UNITS[units[0]]) / above.scale
    elif above.scale != 1 or below.scale != 1:
        return
    most = -half.constant * scale
    yield above.expression, below.expression, math.ceil(most) - 1 if half.strict else math.floor(most)


def _bound(bounds: Distances, below: Node, above: Node, most: int) -> None:
    """Note that `above - below <= most`."""
    known = bounds.setdefault(below, {})
    known[above] = min(most, known.get(above, most))
    bounds.setdefault(above, {})


def _shortest(bounds: Distances, start: Node) -> dict[Node, int]:
    """How far each column that is bounded can be above one (Bellman and Ford).

    Where bounds contradict each other there are no results, and any answer will do: it stops all the same.
    """
    reached = {start: 0}
    for _ in bounds:
        changed = False
        for below, above in bounds.items():
            if below not in reached:
                continue
            for node, most in above.items():
                distance = reached[below] + most
                if node not in reached or distance < reached[node]:
                    reached[node], changed = distance, True
        if not changed:
            break
    return reached


def _window(clock: Clock, width: int) -> Range:
    """The window of a width in nanoseconds, or in whole numbers. Times between whole units do not occur."""
    if clock.unit is None:
        return Range(width)
    tick = UNITS["ns"] // UNITS[clock.unit]
    return Range(duration_text(width // tick * tick))

"""The oracle: the plainest nested-loop join of windowed streams.

It knows nothing of plans, batches, keys or stores, and shares no code with the library. Rows are plain Python
tuples, NULL is None, and a predicate is a small tuple such as ``("<", ("col", "A", "x"), ("lit", 3))``.
A stream is described by anything that has

- ``columns``: names of its columns, in the order of a row's values,
- ``window``: ``("rows", n)``, ``("range", w)``, ``("tumbling rows", n)``, ``("tumbling time", w)``
  or ``("unbounded",)``,
- ``time``: the name of its time column, or None.
"""

from __future__ import annotations

import math
import operator
from bisect import bisect_left

COMPARISONS = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def divide(x, y):
    """Real division; by zero it is NULL."""
    return None if y == 0 else float(x) / float(y)


def remainder(x, y):
    """The remainder of a division that truncates, so it has the sign of x; by zero it is NULL."""
    if y == 0:
        return None
    if isinstance(x, float) or isinstance(y, float):
        return math.nan if math.isinf(x) else math.fmod(x, y)
    return int(math.copysign(1, x)) * (abs(x) % abs(y))


def bounded(function):
    """The function, but NULL where a whole number does not fit int64."""

    def compute(*values):
        value = function(*values)
        return None if isinstance(value, int) and not -(2**63) <= value < 2**63 else value

    return compute


ARITHMETIC = {
    "+": bounded(operator.add),
    "-": bounded(operator.sub),
    "*": bounded(operator.mul),
    "/": divide,
    "%": remainder,
    "neg": bounded(operator.neg),
    "abs": bounded(abs),
}
USER = {
    "sum is even": lambda x, y: (x + y) % 2 == 0,
    "within two": lambda x, y: abs(x - y) <= 2,
}


def known(function, *arguments):
    """``function`` of the values of ``arguments``; NULL as soon as one of them is NULL."""

    def evaluate(bound):
        values = [argument(bound) for argument in arguments]
        return None if any(value is None for value in values) else function(*values)

    return evaluate


def conjunction(parts):
    """SQL's AND: false wins over NULL, NULL over true."""

    def evaluate(bound):
        values = [part(bound) for part in parts]
        return False if False in values else None if None in values else True

    return evaluate


def negation(part):
    """SQL's NOT: NULL stays NULL."""

    def evaluate(bound):
        value = part(bound)
        return None if value is None else not value

    return evaluate


def evaluator(tree, streams):
    """A function of {stream: row} for an expression; predicates give True, False or None (unknown)."""
    kind, *rest = tree
    if kind == "col":
        stream, column = rest
        place = list(streams[stream].columns).index(column)
        return lambda bound: bound[stream][place]
    if kind == "lit":
        return lambda bound: rest[0]
    if kind == "in":
        subject, values = rest
        return evaluator(("or", *[("=", subject, ("lit", value)) for value in values]), streams)
    if kind == "user":
        name, *columns = rest
        return known(USER[name], *[evaluator(column, streams) for column in columns])
    parts = [evaluator(part, streams) for part in rest]
    if kind in COMPARISONS:
        return known(COMPARISONS[kind], *parts)
    if kind in ARITHMETIC:
        return known(ARITHMETIC[kind], *parts)
    if kind == "between":
        subject, low, high = rest
        return evaluator(("and", (">=", subject, low), ("<=", subject, high)), streams)
    if kind == "and":
        return conjunction(parts)
    if kind == "or":
        return negation(conjunction([negation(part) for part in parts]))
    if kind == "not":
        return negation(*parts)
    if kind == "is null":
        return lambda bound: parts[0](bound) is None
    if kind == "is not null":
        return lambda bound: parts[0](bound) is not None
    raise ValueError(f"no such predicate: {tree!r}")


def reads(tree):
    """The streams that a predicate reads."""
    if tree[0] == "col":
        return {tree[1]}
    return set().union(*[reads(part) for part in tree[1:] if isinstance(part, tuple)])


def live_rows(stream, rows, now):
    """The numbers of the rows that a stream's window holds, given all its rows so far and the time.

    Where a window uses time, time never goes back, so its rows are a tail of the stream."""
    kind, *size = stream.window
    if kind == "unbounded":
        return range(len(rows))
    (size,) = size
    if kind == "rows":
        return range(max(0, len(rows) - size), len(rows))
    if kind == "tumbling rows":
        return range((len(rows) - 1) // size * size if rows else 0, len(rows))
    place = list(stream.columns).index(stream.time)
    oldest = {"range": now - size, "tumbling time": now // size * size if size else now}[kind]
    return range(bisect_left(rows, oldest, key=lambda row: row[place]), len(rows))


def loop_order(first, streams, where):
    """The streams, ``first`` in front; next the one that makes most predicates testable. Saves time only."""
    order = [first]
    while len(order) < len(streams):
        rest = [name for name in streams if name not in order]
        order.append(max(rest, key=lambda name: sum(reads(tree) <= {*order, name} for tree in where)))
    return order


def join(streams, where, events, limit=None):
    """For each event ``(stream, row)`` the results it completes: row numbers, in the order of ``streams``.

    A result takes one row of every stream, all in their windows when its latest row arrives, and satisfies
    every predicate. ``limit`` bounds the combinations tried: past it, the answer ends early.
    """
    tests = [(reads(tree), evaluator(tree, streams)) for tree in where]
    orders = {name: loop_order(name, streams, where) for name in streams}
    seen = {name: [] for name in streams}
    answer = []
    tried = 0
    for name, row in events:
        seen[name].append(row)
        now = row[list(streams[name].columns).index(streams[name].time)] if streams[name].time else None
        partial = [{}]
        loops = orders[name]
        for depth, stream in enumerate(loops):
            live = live_rows(streams[stream], seen[stream], now)
            if stream == name:
                live = [number for number in live if number == len(seen[name]) - 1]
            reached = set(loops[: depth + 1])
            due = [test for needs, test in tests if needs <= reached and (stream in needs or not depth)]
            longer = []
            for numbers in partial:
                bound = {other: seen[other][number] for other, number in numbers.items()}
                for number in live:
                    tried += 1
                    bound[stream] = seen[stream][number]
                    if all(test(bound) is True for test in due):
                        longer.append({**numbers, stream: number})
                if limit is not None and tried > limit:
                    return answer
            partial = longer
        answer.append([tuple(numbers[stream] for stream in streams) for numbers in partial])
    return answer

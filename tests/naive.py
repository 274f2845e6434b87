"""The oracle: the plainest nested-loop join of windowed streams.

It knows nothing of plans, batches, keys or stores, and shares no code with the library. Rows are plain Python
tuples, NULL is None, and a predicate is a small tuple such as ``("<", ("col", "A", "x"), ("lit", 3))``.
A stream is described by anything that has

- ``columns``: names of its columns, in the order of a row's values,
- ``window``: ``("rows", n)``, ``("range", w)``, ``("sliding", w, s)``, ``("tumbling rows", n)``,
  ``("tumbling time", w)`` or ``("unbounded",)``,
- ``time``: the name of its time column, or None.

An event is ``(stream, row)``, or ``(None, time)`` where no row comes and time goes on.
`join` gives the results that each event completes. `signed` and `aggregates` give all that changes: at each event
they work out from scratch what stands, and compare that with what stood before.
"""

from __future__ import annotations

import math
import operator
from bisect import bisect_left
from fractions import Fraction
from functools import reduce
from itertools import pairwise

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
FUNCTIONS = {
    "upper": str.upper,
    "lower": str.lower,
    "length": len,
    "||": operator.add,
    "left": lambda text, n: text[:n],
    "replace": str.replace,
    "starts with": str.startswith,
    "contains": lambda text, part: part in text,
    "floor": math.floor,
    "sqrt": lambda x: math.sqrt(x) if x >= 0 else None,
}
"""Functions that are NULL as soon as an argument is."""
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


def choice(parts):
    """SQL's CASE: conditions and values in turns, then what else."""

    def evaluate(bound):
        for condition, value in zip(parts[:-1:2], parts[1::2], strict=True):
            if condition(bound) is True:
                return value(bound)
        return parts[-1](bound)

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
    if kind in FUNCTIONS:
        return known(FUNCTIONS[kind], *parts)
    if kind == "coalesce":
        return lambda bound: next((value for part in parts if (value := part(bound)) is not None), None)
    if kind == "case":
        return choice(parts)
    if kind == "is distinct":
        return lambda bound: parts[0](bound) != parts[1](bound)
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
    if kind == "unbounded" or not rows:
        return range(len(rows))
    size, *step = size
    if kind == "rows":
        return range(max(0, len(rows) - size), len(rows))
    if kind == "tumbling rows":
        return range((len(rows) - 1) // size * size, len(rows))
    place = list(stream.columns).index(stream.time)
    last = now // step[0] * step[0] if step else now
    oldest = {"range": now - size, "sliding": last - size, "tumbling time": now // (size or 1) * size}[kind]
    return range(bisect_left(rows, oldest, key=lambda row: row[place]), len(rows))


def time_of(stream, row):
    """The time of a row; None where the stream has none."""
    return row[list(stream.columns).index(stream.time)] if stream.time else None


def loop_order(first, streams, where):
    """The streams, ``first`` in front; next the one that makes most predicates testable. Saves time only."""
    order = [first]
    while len(order) < len(streams):
        rest = [name for name in streams if name not in order]
        order.append(max(rest, key=lambda name: sum(reads(tree) <= {*order, name} for tree in where)))
    return order


def join(streams, where, events, limit=None):
    """For each event the results it completes: row numbers, in the order of ``streams``.

    A result takes one row of every stream, all in their windows when its latest row arrives, and satisfies
    every predicate. ``limit`` bounds the combinations tried: past it, the answer ends early.
    """
    tests = [(reads(tree), evaluator(tree, streams)) for tree in where]
    orders = {name: loop_order(name, streams, where) for name in streams}
    seen = {name: [] for name in streams}
    answer = []
    tried = 0
    for name, row in events:
        if name is None:
            answer.append([])
            continue
        seen[name].append(row)
        now = time_of(streams[name], row)
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


def standing(streams, where, events, minus=(), limit=None):
    """After each event the results that stand, ``{row numbers: {stream: row}}``, in the order of their emission.

    A result of a join stands while all its rows are live. ``minus``, a list of
    ``(stream, [(base column, inner column), ...])``, makes it a set difference: of the one stream that ``minus`` does
    not name, the live rows that no live row of those streams equals, in ascending order. An inner row that its
    filter rejects equals nothing, and neither do NULL and NaN. ``limit`` bounds the combinations tried, as for `join`.
    """
    inner = [name for name, _ in minus]
    outer = [name for name in streams if name not in inner]
    loops = loop_order(outer[0], outer, where)
    equal = [("=", ("col", outer[0], x), ("col", name, y)) for name, columns in minus for x, y in columns]
    tests = [(reads(tree), evaluator(tree, streams)) for tree in [*where, *equal]]
    seen = {name: [] for name in streams}
    before = {}
    tried = 0
    for name, row in events:
        if name is not None:
            seen[name].append(row)
        now = row if name is None else time_of(streams[name], row)
        live = {other: live_rows(streams[other], seen[other], now) for other in streams}
        partial = [({}, {})]
        for stream in loops:
            tried += len(partial) * len(live[stream])
            if limit is not None and tried > limit:
                return
            longer = [
                ({**numbers, stream: number}, {**bound, stream: seen[stream][number]})
                for numbers, bound in partial
                for number in live[stream]
            ]
            partial = [(numbers, bound) for numbers, bound in longer if holds(tests, bound)]
        for stream in inner:
            rows = [seen[stream][number] for number in live[stream]]
            tried += len(partial) * len(rows)
            partial = [
                (numbers, bound)
                for numbers, bound in partial
                if not any(holds(tests, {**bound, stream: row}) for row in rows)
            ]
        found = {tuple(numbers[stream] for stream in outer): bound for numbers, bound in partial}
        order = [*([] if minus else before), *sorted(found)]
        before = {numbers: found[numbers] for numbers in order if numbers in found}
        yield before


def holds(tests, bound):
    """Whether rows satisfy the predicates that read these streams only."""
    return all(test(bound) is True for needs, test in tests if needs <= bound.keys())


def changes(before, after):
    """What went, as (-1, it), and then what came, as (1, it)."""
    return [(-1, it) for it in before if it not in after] + [(1, it) for it in after if it not in before]


def signed(streams, where, events, minus=(), limit=None):
    """For each event the results that it withdraws, (-1, row numbers), and then its new ones, (1, row numbers).

    A join withdraws in the order of emission. New results of one event come in ascending order here; in an engine
    their order is free. A difference has row numbers of its base stream only, and both kinds in ascending order.
    """
    snapshots = [{}, *standing(streams, where, events, minus, limit)]
    return [changes(before, after) for before, after in pairwise(snapshots)]


def exact_sum(values):
    """The sum without rounding; NaN and infinities as IEEE 754 adds them."""
    special = [value for value in values if isinstance(value, float) and not math.isfinite(value)]
    return sum(special) if special else sum(map(Fraction, values))


def total(values):
    """The sum: whole for whole numbers, else rounded once. A sum of floats beyond float64 is an OverflowError."""
    return sum(values) if all(isinstance(value, int) for value in values) else float(exact_sum(values))


def mean(values):
    """The mean, rounded once."""
    return float(exact_sum(values) / len(values))


def ascending(values):
    """The values in order; NaN is larger than every number."""
    return sorted(values, key=lambda value: (value != value, value))


AGGREGATES = {
    "COUNT": len,
    "SUM": bounded(total),
    "AVG": mean,
    "MIN": lambda values: ascending(values)[0],
    "MAX": lambda values: ascending(values)[-1],
    "MEDIAN": lambda values: mean(ascending(values)[(len(values) - 1) // 2 : len(values) // 2 + 1]),
}


def deviation(values, less):
    """The variance, rounded once, of which ``less`` is taken from the count; NULL of too few values."""
    if len(values) <= less:
        return None
    if any(isinstance(value, float) and not math.isfinite(value) for value in values):
        return math.nan
    exact = [Fraction(value) for value in values]
    middle = sum(exact) / len(exact)
    return float(sum((value - middle) ** 2 for value in exact) / (len(exact) - less))


def root(value):
    """The square root of a number or of NULL."""
    return None if value is None else math.sqrt(value)


def between(values, share):
    """The exact number at a share of the values, rounded once."""
    place = share * (len(values) - 1)
    lower, upper = ascending(values)[math.floor(place)], ascending(values)[math.ceil(place)]
    rest = place - math.floor(place)
    if rest == 0 or lower == upper:
        return float(lower)
    if isinstance(lower, float) and not (math.isfinite(lower) and math.isfinite(upper)):
        return lower + upper
    return float(Fraction(lower) * (1 - rest) + Fraction(upper) * rest)


SHARES = {"QUANTILE_CONT": "0.3", "QUANTILE_DISC": "0.7"}
"""Of which quantile the oracle knows the value."""
MORE = {
    "VAR_SAMP": lambda values: deviation(values, 1),
    "VAR_POP": lambda values: deviation(values, 0),
    "STDDEV_SAMP": lambda values: root(deviation(values, 1)),
    "STDDEV_POP": lambda values: root(deviation(values, 0)),
    "BOOL_AND": all,
    "BOOL_OR": any,
    "QUANTILE_CONT": lambda values: between(values, Fraction(SHARES["QUANTILE_CONT"])),
    "QUANTILE_DISC": lambda values: ascending(values)[
        max(math.ceil(Fraction(SHARES["QUANTILE_DISC"]) * len(values)) - 1, 0)
    ],
}


def joined(known):
    """The first and the last three texts."""
    return ",".join(known[:3] + known[-3:]) or None


IN_ORDER = {
    "FIRST": lambda values: values[0],
    "LAST": lambda values: values[-1],
    "ARRAY_AGG": lambda values: tuple(map(plain, values)),
    "Joined": lambda values: joined([str(value) for value in values if value is not None]),
}
"""Of the values of all results, NULL among them, in the order of their latest events, then of the second latest, ..."""


DISTINCT = {f"{name} DISTINCT": AGGREGATES[name] for name in ("COUNT", "SUM", "AVG", "MEDIAN")}
"""Of each value of a group once."""


def variance(values):
    """The variance of whole numbers, rounded once."""
    n = len(values)
    return float(Fraction(n * sum(x * x for x in values) - sum(values) ** 2, n * n))


def weighted(rows):
    """The mean of x weighted by w, rounded once; NULL where the weights add up to 0."""
    weight = sum(w for _, w in rows)
    return float(Fraction(sum(x * w for x, w in rows), weight)) if weight else None


OWN = {
    "Variance": variance,
    "Weighted": weighted,
    "BitOr": lambda values: reduce(operator.or_, values) & 15,
    "Share": lambda values: sum(x > 0 for x in values) / len(values),
}
"""Aggregates of the user's own (`tests/own_aggregates.py`); those of several arguments get tuples."""


def plain(value):
    """A value that equals itself: all NaN are one, and -0.0 is 0.0."""
    return value if not isinstance(value, float) else math.nan if math.isnan(value) else value + 0.0


def aggregates(streams, where, events, outputs, group_by=(), minus=(), limit=None):
    """For each event the changelog of an aggregate over what stands: (-1, old row) and (1, new row) for each group.

    A row has the values of ``group_by``, a list of expressions, and then of ``outputs``, a list of
    ``(function, expression, ...)``, where COUNT(*) has no expression. Groups come in the order in which the changes
    of the event touch them. Without ``group_by`` there is one group, always. NULL arguments do not count.
    """
    keys = [evaluator(tree, streams) for tree in group_by]
    columns = [(f, [evaluator(tree, streams) for tree in trees or [("lit", 1)]]) for f, *trees in outputs]

    outer = [name for name in streams if name not in {stream for stream, _ in minus}]
    whens = {name: [place for place, (of, _) in enumerate(events) if of == name] for name in outer}

    def group(bound):
        return tuple(plain(key(bound)) for key in keys)

    def latest(numbers):
        return sorted((whens[name][row] for name, row in zip(outer, numbers, strict=True)), reverse=True)

    def output(function, arguments, members):
        rows = [tuple(argument(bound) for argument in arguments) for bound in members]
        if function in IN_ORDER:
            return plain(IN_ORDER[function]([row[0] for row in rows])) if rows else None
        values = [row if len(row) > 1 else row[0] for row in rows if None not in row]
        if function in DISTINCT:
            values = sorted(set(values))
        known = {**AGGREGATES, **MORE, **OWN, **DISTINCT}
        return plain(known[function](values)) if values or "COUNT" in function else None

    def table(results):
        groups = {} if group_by else {(): []}
        for bound in (results[numbers] for numbers in sorted(results, key=latest)):
            groups.setdefault(group(bound), []).append(bound)
        return {
            key: (*key, *[output(*column, members) for column in columns]) for key, members in groups.items()
        }

    answer = []
    snapshots = [{}, *standing(streams, where, events, minus, limit)]
    for before, after in pairwise(snapshots):
        known = {**before, **after}
        touched = dict.fromkeys(group(known[numbers]) for _, numbers in changes(before, after))
        old, new = table(before), table(after)
        pairs = [(old.get(key), new.get(key)) for key in touched]
        answer.append([it for a, b in pairs if a != b for it in [(-1, a), (1, b)] if it[1] is not None])
    return answer

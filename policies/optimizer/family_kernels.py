"""Which composites are worth keeping, one by one. No checks: see `families`.

A *family* is a number of sets of streams of which no two overlap but where one is inside the other: the whole, and the
composites that are kept. What is directly inside a set of the family, streams and smaller sets, are its *parts*; each
part visits the others in the order that is best for it. A family in which every set has two parts is a tree, and the
one that has the whole alone is a plan of orderings.
"""

from __future__ import annotations

import numba as nb

from policies.optimizer.compiled import FACTS, FLOATS, LONGS, QUERY
from policies.optimizer.step_kernels import INSERT, KEEP, linked, probing, writing
from stairs.kernel import kernel

CROSS = 1e3
"""Seconds that a cross product costs: more than any plan without one."""
EXACT = 4
"""Others among which the best order is looked for by dynamic programming; among more, always the least next."""
ROOM = 256
"""Where in the working memory, behind keys, the sets are that they are of."""
BITS = 62
"""Key classes that are bits of a number."""
ORDERS = nb.int64[:, ::1]


@kernel(nb.float64(nb.float64, nb.int64, nb.int64, FACTS, QUERY, FLOATS))
def visiting(turnover, seen, target, facts, query, model):
    """Seconds per event in which entries of `seen`, so many per event and live one, visit `target`."""
    _, cards, _, adjacent = facts
    seconds = probing(turnover * cards[seen], seen, target, cards[target], query, model)
    seconds += writing(turnover * cards[seen | target], seen, target, query, model)
    if not linked(seen, target, adjacent[seen], query[1]):
        seconds += CROSS
    return seconds


@kernel(nb.int64(nb.int64, LONGS, nb.int64, LONGS))
def parts_of(both, family, count, parts):
    """The parts of a set of the family, into `parts`; how many."""
    found = 0
    rest = both
    for i in range(count):
        inner = family[i]
        if inner & ~both or inner == both:
            continue
        largest = True
        for j in range(count):
            outer = family[j]
            if outer != inner and outer != both and not inner & ~outer and not outer & ~both:
                largest = False
        if largest:
            parts[found] = inner
            found += 1
            rest ^= inner
    while rest:
        parts[found] = rest & -rest
        rest &= rest - 1
        found += 1
    return found


@kernel(nb.void(nb.int64, LONGS, nb.int64, FACTS, QUERY, FLOATS, FLOATS, LONGS))
def order_part(own, parts, count, facts, query, model, cost, order):
    """The best order in which entries of part number `own` visit the others, into `order`.

    `cost` has room for a number for each set of others, `order` for twice as many besides.
    """
    _, cards, drive, adjacent = facts
    others = count - 1
    turnover = drive[parts[own]]
    if others > EXACT:
        seen, rest = parts[own], (1 << count) - 1 - (1 << own)
        for at in range(others):
            best, least = -1, 0.0
            for j in range(count):
                if rest >> j & 1:
                    made = cards[seen | parts[j]]
                    if not linked(seen, parts[j], adjacent[seen], query[1]):
                        made += 1e300
                    if best < 0 or made < least:
                        best, least = j, made
            order[at] = parts[best]
            seen |= parts[best]
            rest ^= 1 << best
        return
    last, seen = order[others:], order[others + (1 << others) :]
    seen[0] = parts[own]
    cost[0] = 0.0
    for some in range(1, 1 << others):
        cost[some] = -1.0
        for j in range(others):
            if some >> j & 1:
                before = some ^ (1 << j)
                target = parts[j if j < own else j + 1]
                seen[some] = seen[before] | target
                seconds = cost[before] + visiting(turnover, seen[before], target, facts, query, model)
                if cost[some] < 0.0 or seconds < cost[some]:
                    cost[some], last[some] = seconds, j
    some = (1 << others) - 1
    for at in range(others - 1, -1, -1):
        j = last[some]
        order[at] = parts[j if j < own else j + 1]
        some ^= 1 << j


@kernel(nb.int64(nb.int64, nb.int64, LONGS))
def shared_classes(left, right, classes):
    """The key classes that two sets have in common, as bits, as far as a number has bits; more than `BITS` are compared
    by `same_beyond`."""
    found = 0
    for c in range(min(classes.shape[0], BITS)):
        if left & classes[c] and right & classes[c]:
            found |= 1 << c
    return found


@kernel(nb.boolean(nb.int64, nb.int64, nb.int64, LONGS))
def same_beyond(one, other, kept, classes):
    """Whether two sets share the same classes with a third, of those that have no bit."""
    for c in range(BITS, classes.shape[0]):
        if kept & classes[c] and (one & classes[c] != 0) != (other & classes[c] != 0):
            return False
    return True


@kernel(nb.float64(LONGS, nb.int64, FACTS, QUERY, FLOATS, FLOATS, LONGS, ORDERS))
def family_seconds(family, count, facts, query, model, cost, work, orders):
    """Seconds per event of the best plan with this family, and in `orders`, for each part, itself and its visits.

    The first set of the family is the whole.
    """
    _, cards, drive, _ = facts
    parts, order = work[:64], work[64:]
    total, row = (count - 1) * model[KEEP], 0
    for i in range(count):
        found = parts_of(family[i], family, count, parts)
        for own in range(found):
            order_part(own, parts, found, facts, query, model, cost, order)
            orders[row, 0] = parts[own]
            seen = parts[own]
            for at in range(found - 1):
                orders[row, at + 1] = order[at]
                total += visiting(drive[parts[own]], seen, order[at], facts, query, model)
                seen |= order[at]
            orders[row, found] = 0
            row += 1
    # A composite is stored under each key by which others visit it; its last steps are made once for each, and once
    # more if its own entries go on by another key.
    for i in range(1, count):
        kept = family[i]
        keys, own, onward = 0, -1, 0
        for r in range(row):
            seen, at = orders[r, 0], 1
            if seen == kept:
                onward = orders[r, 1]
                own = shared_classes(kept, onward, query[0])
            while orders[r, at]:
                if orders[r, at] == kept:
                    work[keys] = shared_classes(seen, kept, query[0])
                    work[ROOM + keys] = seen
                    keys += 1
                seen |= orders[r, at]
                at += 1
        different, again = 0, own != 0 or not same_beyond(onward, 0, kept, query[0])
        for k in range(keys):
            new, seen = True, work[ROOM + k]
            for j in range(k):
                if work[j] == work[k] and same_beyond(seen, work[ROOM + j], kept, query[0]):
                    new = False
            different += new
            if work[k] == own and same_beyond(seen, onward, kept, query[0]):
                again = False
        total += different * cards[kept] * drive[kept] * model[INSERT]
        more = different + again - 1
        if more > 0:
            for r in range(row):
                seen, at = orders[r, 0], 1
                while orders[r, at]:
                    if seen | orders[r, at] == kept:
                        total += more * visiting(
                            drive[orders[r, 0]], seen, orders[r, at], facts, query, model
                        )
                    seen |= orders[r, at]
                    at += 1
    return total


@kernel(nb.int64(LONGS, nb.int64, LONGS, FACTS, QUERY, FLOATS, FLOATS, LONGS, ORDERS))
def improve(family, count, fixed, facts, query, model, cost, work, orders):
    """Drop or add one composite after the other while that makes the plan cheaper; how many sets there are then, and
    in `cost[0]` what the plan costs.

    Sets in `fixed` stay. An added composite is made of two parts of some set, or of more where there are few.
    """
    trial = work[512:]
    now = family_seconds(family, count, facts, query, model, cost, work, orders)
    while True:
        best, least, add = -1, now, 0
        for i in range(1, count):
            stays = False
            for j in range(fixed.shape[0]):
                stays = stays or fixed[j] == family[i]
            if stays:
                continue
            dropped = family[i]
            family[i] = family[count - 1]
            seconds = family_seconds(family, count - 1, facts, query, model, cost, work, orders)
            family[i] = dropped
            if seconds < least:
                best, least = i, seconds
        for i in range(count):
            found = parts_of(family[i], family, count, trial)
            if found < 3:
                continue
            for some in range(3, (1 << found) - 1):
                both, width = 0, 0
                for a in range(found):
                    if some >> a & 1:
                        both |= trial[a]
                        width += 1
                if width < 2 or (width > 2 and found > EXACT):
                    continue
                family[count] = both
                seconds = family_seconds(family, count + 1, facts, query, model, cost, work, orders)
                if seconds < least:
                    best, least, add = count, seconds, both
        if best < 0 or least > now * (1.0 - 1e-9):
            cost[0] = family_seconds(family, count, facts, query, model, cost, work, orders)
            return count
        if add:
            family[count] = add
            count += 1
        else:
            count -= 1
            family[best] = family[count]
        now = least

"""Plans: which streams meet in which order, written as the papers write them.

A *tree* ``((A B) C) D`` keeps the composites of every inner node; *orderings* ``A: B C | B: A C | C: A B`` keep none:
each stream has its own order in which it visits the others. ``stems`` is short for orderings that the library picks.
Between the two, an ordering may visit composites, ``D: (A B) C``: see `eddy.orderings`. Rows of one stream may take
several ways: under ``A 3: B C | A 1: C B | ...`` three of four rows of A visit B first. Which ones, a selector says
(`eddy.plan.selectors`): the first of a batch; those that are drawn, ``A 3 drawn: B C | A 1 drawn: C B``; or those with
some values of a key, ``A k in (5, 17): B C | A: C B``.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from difflib import get_close_matches
from heapq import heappop, heappush

from attrs import field, frozen

from eddy.errors import PlanError
from eddy.plan.orderings import Order, Orderings, Visit, check_prefixes, orderings, streams_of
from eddy.plan.selectors import Columns, Head, check_column, read_head, selector_of

Connected = Callable[[frozenset[str], str], bool]
"""Whether a predicate connects a set of streams with one more."""


@frozen
class Leaf:
    """One stream."""

    name: str

    @property
    def streams(self) -> frozenset[str]:
        return frozenset((self.name,))

    def __str__(self) -> str:
        return self.name


@frozen
class Join:
    """The join of what two sub-plans give."""

    left: Node
    right: Node
    streams: frozenset[str] = field(init=False, eq=False, repr=False)

    def __attrs_post_init__(self) -> None:
        object.__setattr__(self, "streams", self.left.streams | self.right.streams)

    def __str__(self) -> str:
        return " ".join(
            f"({side})" if isinstance(side, Join) else str(side) for side in (self.left, self.right)
        )


Node = Leaf | Join


Plan = Join | Orderings


def joins(node: Node) -> Iterator[Join]:
    """All joins of a tree, each after those below it."""
    stack, found = [node], []
    while stack:
        top = stack.pop()
        if isinstance(top, Join):
            found.append(top)
            stack += [top.left, top.right]
    return reversed(found)


def left_deep(order: Sequence[str]) -> Join:
    """``((A B) C) D`` for A, B, C, D."""
    node: Node = Leaf(order[0])
    for name in order[1:]:
        node = Join(node, Leaf(name))
    assert isinstance(node, Join)
    return node


def connected_order(first: str, names: Sequence[str], connected: Connected) -> tuple[str, ...]:
    """The streams from ``first`` on, in the order of ``names`` but for those that no predicate connects yet."""
    return _orders((first,), names, connected)[first]


def stems(names: Sequence[str], connected: Connected) -> Orderings:
    """Orderings in the order of declaration, every prefix connected where it can be."""
    return Orderings({name: order[1:] for name, order in _orders(names, names, connected).items()})


def _orders(firsts: Sequence[str], names: Sequence[str], connected: Connected) -> dict[str, tuple[str, ...]]:
    """From each of these streams on, all of them, each connected with those before where it can be; with one of them
    alone, if there is such a stream. Which is connected with which is asked once for all."""
    places = {name: i for i, name in enumerate(names)}
    near: dict[str, list[int]] = {}
    found = {}
    for first in firsts:
        order, left = [first], dict.fromkeys(names)
        del left[first]
        around: list[int] = []  # a heap: of the streams that are connected the first comes next
        while left:
            last = order[-1]
            if last not in near:
                one = frozenset((last,))
                near[last] = [i for b, i in places.items() if b != last and connected(one, b)]
            for i in near[last]:
                if names[i] in left:
                    heappush(around, i)
            while around and names[around[0]] not in left:
                heappop(around)
            if around:
                follower = names[heappop(around)]
            else:  # a predicate over three streams may connect one
                seen = frozenset(order)
                follower = next((name for name in left if connected(seen, name)), next(iter(left)))
            order.append(follower)
            del left[follower]
        found[first] = tuple(order)
    return found


def parse_plan(text: str, names: Sequence[str], connected: Connected, columns: Columns | None = None) -> Plan:
    """Read a plan for these streams; PlanError says what is wrong with it. ``columns``: by which rows may be split."""
    if not isinstance(text, str):
        raise PlanError(f"a plan is a string such as {_example(names)!r}, not {type(text).__name__}")
    if text.strip() == "stems" and "stems" not in names:
        return stems(names, connected)
    return _orderings(text, names, columns) if ":" in text else _tree(text, names)


def parse_part(text: str, names: Sequence[str]) -> Join:
    """Read a tree over some of these streams."""
    if not isinstance(text, str):
        raise PlanError(
            f"a sub-plan is a string such as '({names[0]} {names[1]})', not {type(text).__name__}"
        )
    part, tokens = _read(text, names)
    if isinstance(part, Leaf):
        raise PlanError(f"sub-plan {text!r} joins nothing; write for example '({names[0]} {names[1]})'")
    _check_once(tokens, text, tokens, f"sub-plan {text!r}")
    return part


def _tree(text: str, names: Sequence[str]) -> Join:
    root, tokens = _read(text, names)
    _check_once(tokens, text, names, f"plan {text!r}")
    if isinstance(root, Leaf):
        raise PlanError(f"plan {text!r} joins nothing; write for example {_example(names)!r}")
    return root


def _read(text: str, names: Sequence[str]) -> tuple[Node, list[str]]:
    """The tree that is written there, and its streams as they come."""
    tokens = re.findall(r"[()]|[^\s()]+", text)
    stack: list[list[Node]] = [[]]
    for token in tokens:
        if token == "(":
            stack.append([])
        elif token == ")":
            if len(stack) == 1:
                raise PlanError(f"plan {text!r} closes a parenthesis that it did not open")
            stack[-2].append(_pair(stack.pop(), text, names))
        else:
            stack[-1].append(Leaf(_known(token, text, names)))
    if len(stack) > 1:
        raise PlanError(f"plan {text!r} lacks {len(stack) - 1} closing parenthesis(es)")
    return _pair(stack[0], text, names), [token for token in tokens if token not in "()"]


def _pair(parts: list[Node], text: str, names: Sequence[str]) -> Node:
    """Two inputs make a join; parentheses around one input mean nothing."""
    if len(parts) == 1:
        return parts[0]
    if len(parts) == 2:
        return Join(parts[0], parts[1])
    inside = " ".join(f"({part})" if isinstance(part, Join) else str(part) for part in parts)
    if not parts:
        raise PlanError(f"plan {text!r} has nothing to join; write for example {_example(names)!r}")
    raise PlanError(
        f"plan {text!r} joins {len(parts)} inputs at once in '{inside}': a join has two. "
        f"Add parentheses, for example {_example(names)!r}"
    )


def _orderings(text: str, names: Sequence[str], columns: Columns | None) -> Orderings:
    heads: dict[str, list[Head]] = {}
    found: dict[str, list[Order]] = {}
    for part in text.split("|"):
        before, colon, tail = part.partition(":")
        head = read_head(before, text) if colon else None
        if head is None:
            raise PlanError(
                f"in plan {text!r}, '{part.strip()}' is not an ordering: write 'A: B C' for each stream"
            )
        _known(head.name, text, names)
        check_column(head, text, columns)
        order = _order(tail, text, names)
        seen = [stream for visit in order for stream in streams_of(visit)]
        _check_once((head.name, *seen), text, names, f"the ordering of {head.name} in plan {text!r}")
        heads.setdefault(head.name, []).append(head)
        found.setdefault(head.name, []).append(order)
    selectors = {name: selector_of(some, text) for name, some in heads.items()}
    _check_once(tuple(found), text, names, f"plan {text!r}", "an ordering for ")
    weights = {name: [head.weight or 1 for head in some] for name, some in heads.items()}
    ways = {name: tuple(zip(weights[name], found[name], strict=True)) for name in names}
    plan = orderings(ways, {name: by for name, by in selectors.items() if by is not None})
    check_prefixes(plan, text)
    return plan


def _order(tail: str, text: str, names: Sequence[str]) -> Order:
    """Streams, and STAIRs in parentheses."""
    order: list[Visit] = []
    inside: list[str] | None = None
    for token in re.findall(r"[()]|[^\s()]+", tail):
        if token == "(" and inside is not None:
            raise PlanError(
                f"in plan {text!r}, '{tail.strip()}' has parentheses in parentheses: a STAIR is written by its "
                "streams alone, as in '(A B C)'; how it is made is said by the orderings of these"
            )
        if token == "(":
            inside = []
        elif token == ")":
            if not inside:
                what = (
                    "closes a parenthesis that it did not open" if inside is None else "has empty parentheses"
                )
                raise PlanError(f"in plan {text!r}, '{tail.strip()}' {what}")
            order.append(inside[0] if len(inside) == 1 else tuple(sorted(inside, key=names.index)))
            inside = None
        else:
            (order if inside is None else inside).append(_known(token, text, names))
    if inside is not None:
        raise PlanError(f"in plan {text!r}, '{tail.strip()}' lacks a closing parenthesis")
    return tuple(order)


def _known(token: str, text: str, names: Sequence[str]) -> str:
    if token not in names:
        near = get_close_matches(token, names, 1)
        hint = f"did you mean {near[0]}? " if near else ""
        raise PlanError(
            f"plan {text!r} names {token!r}, which is no stream of the query: {hint}It has {', '.join(names)}"
        )
    return token


def _check_once(found: Sequence[str], text: str, names: Sequence[str], where: str, what: str = "") -> None:
    counts = Counter(found)
    missing = [name for name in names if name not in counts]
    twice = sorted(name for name, count in counts.items() if count > 1)
    faults = [f"misses {what}{', '.join(missing)}"] if missing else []
    faults += [f"repeats {', '.join(twice)}"] if twice else []
    if faults:
        raise PlanError(f"{where} {' and '.join(faults)}: every stream of the query takes part once")


def _example(names: Sequence[str]) -> str:
    return str(left_deep(names)) if len(names) > 1 else "A B"

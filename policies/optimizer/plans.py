"""Plans as the optimiser handles them, and their notation.

A tree is a stream's name, or a pair of trees; orderings are a dict from a stream to what its rows visit, in order:
streams, and composites as tuples of their streams.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

Tree = str | tuple["Tree", "Tree"]
Visit = str | tuple[str, ...]
Orders = Mapping[str, tuple[Visit, ...]]


def show(plan: Tree | Orders) -> str:
    """A plan in the notation of ``engine.plan``: `(A B) C`, or `A: B C | B: A C | C: (A B)`."""
    if isinstance(plan, Mapping):
        visits = {
            name: (v if isinstance(v, str) else f"({' '.join(v)})" for v in plan[name]) for name in plan
        }
        return " | ".join(f"{name}: {' '.join(order)}" for name, order in visits.items())
    if isinstance(plan, str):
        return plan
    return " ".join(side if isinstance(side, str) else f"({show(side)})" for side in plan)


def read(text: str) -> Tree | Orders:
    """The plan that a text shows. Only what ``engine.plan`` prints and its users pin: ValueError for anything else."""
    if ":" in text:
        parts = (part.partition(":") for part in text.split("|"))
        # Rows of a stream may take several ways, `A 3: B C | A 1: C B`: then the last one stands for all.
        return {head.split()[0]: tuple(_visits(tail)) for head, _, tail in parts}
    stack: list[list[Tree]] = [[]]
    for token in re.findall(r"[()]|[^\s()]+", text):
        if token == "(":
            stack.append([])
        elif token == ")" and len(stack) > 1:
            stack[-2].append(_pair(stack.pop(), text))
        elif token == ")":
            raise ValueError(f"{text!r} closes a parenthesis that it did not open")
        else:
            stack[-1].append(token)
    if len(stack) > 1:
        raise ValueError(f"{text!r} lacks a closing parenthesis")
    return _pair(stack[0], text)


def _visits(tail: str) -> Iterator[Visit]:
    for inside, name in re.findall(r"\(([^()]*)\)|([^\s()]+)", tail):
        yield name or tuple(inside.split())


def singles(visit: Visit) -> tuple[str, ...]:
    """The streams of a visit."""
    return (visit,) if isinstance(visit, str) else visit


def flat(orders: Orders) -> bool:
    """Whether no composites are visited."""
    return all(isinstance(visit, str) for order in orders.values() for visit in order)


def _pair(parts: list[Tree], text: str) -> Tree:
    if len(parts) == 1:
        return parts[0]
    if len(parts) != 2:
        raise ValueError(f"a join has two inputs, but one of {text!r} has {len(parts)}")
    return parts[0], parts[1]


def nodes(tree: Tree) -> Iterator[tuple[Tree, Tree]]:
    """The joins of a tree, each after those below it."""
    if not isinstance(tree, str):
        for side in tree:
            yield from nodes(side)
        yield tree


def streams(tree: Tree) -> frozenset[str]:
    """The streams of a tree."""
    return frozenset((tree,)) if isinstance(tree, str) else streams(tree[0]) | streams(tree[1])


def left_deep(order: Iterable[Tree]) -> Tree:
    """``((A B) C) D`` for A, B, C, D, each of which may be a tree."""
    first, *others = order
    tree = first
    for other in others:
        tree = tree, other
    return tree

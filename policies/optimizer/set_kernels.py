"""What a join of two sets costs, the sets given by their numbers in a table of facts: pieces of the search kernels.

A table has its sets as numbers, or as rows of words (see `words`): when a kernel is compiled its type says which.
"""

from __future__ import annotations

from typing import Any

from numba.extending import overload

from policies.optimizer.step_kernels import INSERT, KEEP, linked, probing, writing
from policies.optimizer.wide_kernels import wide_linked, wide_probing, wide_writing
from stairs.kernel import part


def _wide(facts: Any) -> bool:
    return bool(facts[0].ndim == 2)


def linked_sets(left: Any, right: Any, facts: Any, query: Any) -> Any:
    """Whether a predicate can be tested between two sets."""
    raise NotImplementedError("only kernels call this")


def probing_set(flow: Any, source: Any, target: Any, facts: Any, query: Any, model: Any) -> Any:
    """Seconds per event in which `flow` entries of one set look for partners in another."""
    raise NotImplementedError("only kernels call this")


def writing_sets(matches: Any, left: Any, right: Any, facts: Any, query: Any, model: Any) -> Any:
    """Seconds per event in which so many matches of two sets are written."""
    raise NotImplementedError("only kernels call this")


@overload(linked_sets, inline="always")
def _linked_sets(left, right, facts, query):
    if _wide(facts):
        return lambda left, right, facts, query: wide_linked(left, right, facts, query)
    return lambda left, right, facts, query: linked(facts[0][left], facts[0][right], facts[3][left], query[1])


@overload(probing_set, inline="always")
def _probing_set(flow, source, target, facts, query, model):
    if _wide(facts):
        return lambda flow, source, target, facts, query, model: wide_probing(
            flow, source, target, facts, query, model
        )
    return lambda flow, source, target, facts, query, model: probing(
        flow, facts[0][source], facts[0][target], facts[1][target], query, model
    )


@overload(writing_sets, inline="always")
def _writing_sets(matches, left, right, facts, query, model):
    if _wide(facts):
        return lambda matches, left, right, facts, query, model: wide_writing(
            matches, left, right, facts, model
        )
    return lambda matches, left, right, facts, query, model: writing(
        matches, facts[0][left], facts[0][right], query, model
    )


@part
def joining(left, right, both, root, facts, query, model):
    """Seconds per event of a node of a tree: either side probes the other, and matches are stored but at the root."""
    cards, drive = facts[1], facts[2]
    matches = cards[both] * drive[both]
    seconds = probing_set(cards[left] * drive[left], left, right, facts, query, model)
    seconds += probing_set(cards[right] * drive[right], right, left, facts, query, model)
    seconds += writing_sets(matches, left, right, facts, query, model)
    if not root:
        seconds += matches * model[INSERT] + model[KEEP]
    return seconds

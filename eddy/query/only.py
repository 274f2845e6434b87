"""Which rows of a stream take part in a query at all, where WHERE behind an outer join would say something else.

`A RIGHT JOIN B` gives a row of B with NULLs where no row of A is its partner. With `only={"A": "A.v > 1"}` no other row
of A is one; WHERE would rule out results of B beside. In SQL it is what a subquery in FROM says, and what ON says of
one stream where JOIN stands before RIGHT or FULL JOIN.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from attrs import evolve

from eddy.errors import QueryError
from eddy.query.attachment import Attachment, Predicate, conditions
from eddy.query.expressions import Expression
from eddy.query.logic import conjunction, conjuncts
from eddy.query.names import Scope
from eddy.shown import shown

Only = Mapping[str, Predicate | Iterable[Predicate]]
Rows = dict[str, tuple[Expression, ...]]


def parse_only(given: Only | None, scope: Scope) -> Rows:
    """The predicates by stream, each of that stream alone."""
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise QueryError(
            f"only takes a dict of streams and predicates, such as {{'A': 'A.v > 1'}}, not {shown(given)}"
        )
    found: Rows = {}
    for name, said in given.items():
        scope.stream(name)
        found[name] = tuple(dict.fromkeys(conditions(said, scope)))
        for part in found[name]:
            if part.streams - {name}:
                raise QueryError(
                    f"only of {name} names {min(part.streams - {name})}, in {part}: it says which rows of "
                    f"{name} take part, whatever others are there; what is between streams goes into where, or on"
                )
    return {name: said for name, said in found.items() if said}


def narrowed(attached: Sequence[Attachment], rows: Rows) -> tuple[Attachment, ...]:
    """Attachments that have partners among these rows alone. Where no row of the stream is given by itself, its
    condition says the same."""

    def of(one: Attachment) -> Attachment:
        said = rows.get(one.stream, ())
        if not said:
            return one
        if one.join.keeps_right:
            return evolve(one, filter=conjunction(said))
        own = () if one.filter is None else conjuncts(one.filter)
        return evolve(one, on=(*one.on, *said), filter=conjunction((*own, *said)))

    return tuple(map(of, attached))


def told_apart(rows: Rows, attached: Sequence[Attachment]) -> Rows:
    """Those that neither WHERE nor a condition says as well, since results without a row of the stream are given."""
    if not any(one.join.keeps_right for one in attached):
        return {}
    same = {one.stream for one in attached if not one.join.keeps_right}
    return {name: said for name, said in rows.items() if name not in same}

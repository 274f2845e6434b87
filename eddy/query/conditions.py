"""What the predicates of a query say, however they are written.

`B.k = A.k` is `A.k = B.k`, and of three columns that are equal it does not matter which two pairs are named. The sides
of a comparison may change places, and so may what AND, OR and IN list. Nothing else is taken for the same: what says so
in yet another way is another predicate here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from eddy.errors import EddyError
from eddy.query.comparisons import Comparison, InList
from eddy.query.expressions import Expression
from eddy.query.keys import equal_columns, is_equality
from eddy.query.logic import And, Connective, Not, Or
from eddy.query.names import Scope
from eddy.query.parse import condition
from eddy.values.types import column_type

MIRRORED = {"=": "=", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}


class Conditions:
    """Predicates that all hold."""

    def __init__(self, predicates: Iterable[Expression | str]) -> None:
        predicates = list(predicates)
        readable = [predicate for predicate in predicates if isinstance(predicate, Expression)]
        self._equal = [frozenset(group) for group in equal_columns(readable)]
        self._said = {_text(predicate) for predicate in predicates}

    def say(self, predicate: Expression | str) -> bool:
        """Whether a predicate is one of them, or an equality that follows from theirs."""
        if isinstance(predicate, Expression) and is_equality(predicate):
            return any(group.issuperset(predicate.children) for group in self._equal)
        return _text(predicate) in self._said


def as_said(predicates: Iterable[Expression | str]) -> frozenset[str]:
    """What these say, one by one: the same of two lists of which each says what the other does, equalities that follow
    aside."""
    return frozenset(map(_text, predicates))


def read(where: Iterable[str], streams: Mapping[str, Mapping[str, str]]) -> list[Expression | str]:
    """Predicates from their texts, over streams of these columns and types; what only a program knows stays a text."""
    try:
        scope = Scope(
            {name: {c: column_type(kind) for c, kind in of.items()} for name, of in streams.items()}
        )
    except EddyError:  # types of another version
        return list(where)
    return [_parsed(text, scope) for text in where]


def _parsed(text: str, scope: Scope) -> Expression | str:
    try:
        return condition(text, scope)
    except EddyError:
        return text


def _text(predicate: Expression | str) -> str:
    """One way to write all that is taken for the same."""
    if isinstance(predicate, Comparison):
        op, left, right = predicate.op, str(predicate.left), str(predicate.right)
        return f"{right} {MIRRORED[op]} {left}" if right < left else f"{left} {op} {right}"
    if isinstance(predicate, Connective):
        kind = And if isinstance(predicate, And) else Or
        return f"{kind.__name__}({', '.join(sorted({_text(part) for part in _parts(predicate, kind)}))})"
    if isinstance(predicate, Not):
        return f"Not({_text(predicate.operand)})"
    if isinstance(predicate, InList):
        return f"{predicate.operand} In({', '.join(sorted({str(option) for option in predicate.options}))})"
    return str(predicate)


def _parts(predicate: Expression, kind: type[Connective]) -> Iterator[Expression]:
    """What an AND, or an OR, lists, through all its brackets."""
    if isinstance(predicate, kind):
        yield from _parts(predicate.left, kind)
        yield from _parts(predicate.right, kind)
    else:
        yield predicate

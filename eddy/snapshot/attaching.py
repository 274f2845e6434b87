"""The attachments of a query as plain values: described, made again, and compared."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from eddy.query.attachment import (
    AntiJoin,
    AsofJoin,
    Attach,
    FullJoin,
    InnerJoin,
    LeftAsofJoin,
    LeftJoin,
    RightJoin,
    SemiJoin,
)
from eddy.query.conditions import as_said
from eddy.query.expressions import Expression
from eddy.query.logic import conjuncts
from eddy.query.query import Query

KINDS: dict[str, type[Attach]] = {
    kind.text: kind
    for kind in (
        InnerJoin, LeftJoin, RightJoin, FullJoin, SemiJoin, AntiJoin, AsofJoin, LeftAsofJoin,
    )
}  # fmt: skip
ABSENT: dict[str, Any] = {"attachments": [], "after": [], "only": {}, "changes": False}
"""What queries did not say before there were attachments."""

Texts = Iterable[str]
Read = Callable[[Texts], list[Expression | str]]


def described(query: Query) -> dict[str, Any]:
    """Attachments in their order, what is tested behind them, and whether results are withdrawn."""
    return {
        "attachments": [
            [one.join.text, one.stream, [str(part) for part in one.on]] for one in query.attachments
        ],
        "after": [] if query.after is None else [str(part) for part in conjuncts(query.after)],
        "only": {name: [str(part) for part in said] for name, said in query.only.items()},
        "changes": query.changes,
    }


def conditions(query: Query) -> Iterator[Expression]:
    """All that attachments test, and what is tested behind them."""
    for one in query.attachments:
        yield from one.on
    if query.after is not None:
        yield query.after
    for said in query.only.values():
        yield from said


def arguments_of(saved: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of `Query` for a query that has attachments: which streams are attached, and by what, is not left
    to how a statement would be read."""
    if not saved.get("attachments"):
        return {}
    only = saved.get("only", {})
    own = {part for said in only.values() for part in said}
    return {
        "attach": [KINDS[text](stream, tuple(on)) for text, stream, on in saved["attachments"]],
        "where": [part for part in saved["where"] if part not in own],
        "after": saved["after"],
        "only": only,
        "changes": saved["changes"],
    }


def differences(saved: Mapping[str, Any], given: Mapping[str, Any], keeper: str, read: Read) -> Iterator[str]:
    """What differs; ``read`` makes predicates of texts. Sides may be exchanged, and the order of AND."""
    saved, given = {**ABSENT, **saved}, {**ABSENT, **given}
    ours, theirs = given["attachments"], saved["attachments"]
    if [one[:2] for one in ours] != [one[:2] for one in theirs]:
        yield f"it has {_shown(ours)}, {keeper} {_shown(theirs)}"
        return
    for (text, stream, on), (_, _, others) in zip(ours, theirs, strict=True):
        if as_said(read(on)) != as_said(read(others)):
            yield f"{text} {stream} is ON {_joined(on)}, in {keeper} ON {_joined(others)}"
    if as_said(read(given["after"])) != as_said(read(saved["after"])):
        yield f"behind its joins it tests {_joined(given['after'])}, {keeper} {_joined(saved['after'])}"
    for name in {**given["only"], **saved["only"]}:
        own, other = (described["only"].get(name, []) for described in (given, saved))
        if as_said(read(own)) != as_said(read(other)):
            yield f"of {name} rows take part by {_joined(own)}, in {keeper} by {_joined(other)}"
    if given["changes"] != saved["changes"]:
        yield f"changes is {given['changes']}, in {keeper} it is {saved['changes']}"


def _shown(attachments: Iterable[list[Any]]) -> str:
    return ", ".join(f"{text} {stream}" for text, stream, _ in attachments) or "no attachments"


def _joined(texts: Texts) -> str:
    return " AND ".join(texts) or "nothing"

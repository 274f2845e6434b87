"""Which joins cannot give final results: those that keep their rows, behind such as give some when they end only."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlglot import exp

from eddy.errors import QueryError
from eddy.query.attaching import kind_of
from eddy.query.attachment import Attachment
from eddy.query.place import about
from eddy.query.query import Query
from eddy.query.steps import WRITTEN, is_late, leaf_of, name_of


def never_final(attached: Sequence[Attachment]) -> tuple[Attachment, Attachment] | None:
    """A join that keeps its rows, and one before it of which is known what has no partner when it has ended: it may
    still match rows that were given with NULLs."""
    late = None
    for one in attached:
        if late is not None and one.join.keeps_right:
            return one, late
        if one.join.keeps_right or (not one.join.nearest and is_late(type(one.join))):
            late = late or one
    return None


def refuse_never_final(query: Query, joins: Mapping[str, exp.Join | None]) -> None:
    """Refuse such a statement, where its joins are; ``joins`` are those that attach its streams."""
    pair = None if query.signed else never_final(query.attachments)
    if pair is None:
        return
    one, late = pair
    keeper, behind = joins[one.stream], joins[late.stream]
    assert keeper is not None and behind is not None
    turned = WRITTEN in keeper.meta
    said = f"{_said(keeper)} {'with' if turned else 'behind'} {_said(behind)}{' in it' if turned else ''}"
    raise about(
        keeper.meta[WRITTEN].this if turned else keeper.this,
        QueryError(
            f"{said} cannot be final: what ends without a partner there may still match rows of {one.stream} that were "
            "given with NULLs. Write EMIT CHANGES at the end of the statement, which withdraws these"
        ),
    )


def _said(join: exp.Join) -> str:
    """A join as the user wrote it."""
    written = join.meta.get(WRITTEN, join)
    table = leaf_of(written.this)
    name = name_of(table) if table is written.this else f"({name_of(table)} ...)"
    return f"{kind_of(written)} JOIN {name}"

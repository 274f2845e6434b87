"""Which query a checkpoint is for: described beside its state, so that no other one goes on from there.

    <checkpoint>/eddy/query.json

`stream` writes the description before the query can be started. From then on it stands: a query that says something
else is refused, and one that says the same in another order, or by other equalities, is put in the order of the
description. State knows streams, columns and keys by number, and so does Spark its sources, so that order must never
change.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import attrs

from eddy.errors import StateError
from eddy.partition.marks import counted
from eddy.query.query import Query, changed
from eddy.snapshot.query import arranged, current, describe, differences
from eddy.spark.layout import trimmed
from eddy.spark.state import Store

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@attrs.frozen
class Identity:
    """A query as its checkpoint has it."""

    query: Query
    frames: dict[str, DataFrame]
    """In the order in which Spark numbers their sources."""
    text: bytes
    """The description; empty for state of before there were any."""
    new: bool
    """Whether it is still to be written."""

    @property
    def digest(self) -> str:
        """What is compared where the whole description is not at hand; empty if there is none."""
        return digest(self.text)


def digest(text: bytes | None) -> str:
    """A short name for a description. It is that of the very bytes: another version may put it in other words."""
    return hashlib.sha256(text).hexdigest()[:16] if text else ""


def identified(store: Store, query: Query, frames: Mapping[str, DataFrame]) -> Identity:
    """The query, in the order of its checkpoint; StateError if that is the checkpoint of another one.

    Until Spark has started a query there, no row was read, and a description may be replaced.
    """
    started = store.started()
    kept = store.described() if started else None
    if kept is None:
        if started and store.looked():
            # As an older version left it, with sources in the order of the dict: each cell looks at its own state.
            return Identity(query, dict(frames), b"", False)
        text = json.dumps(_described(query), ensure_ascii=False, indent=1).encode()
        return Identity(query, _ordered(frames, query.names), text, True)
    try:
        saved = json.loads(kept)
        query = _in_order(query, saved)
        difference = _difference(saved, query, store.checkpoint)
        if difference is None:
            query = arranged(query, saved, store.checkpoint)
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        raise StateError(
            f"what the query of the checkpoint {store.checkpoint!r} is cannot be read ({error!r}): restore its folder "
            "as a whole, or start with a new one"
        ) from error
    if difference is not None:
        raise StateError(
            f"the query is not the one of the checkpoint {store.checkpoint!r}: {difference}. Start it with the query "
            "that it was begun with; another query needs a checkpoint of its own"
        )
    return Identity(query, _ordered(frames, query.names), kept, False)


def replaced(checkpoint: str) -> StateError:
    """The error of a frame whose checkpoint has become that of another query."""
    return StateError(
        f"eddy.spark.stream was called again for the checkpoint {checkpoint!r}, with another query: start what the "
        "last call returned, and give each query a checkpoint of its own"
    )


def _described(query: Query) -> dict[str, Any]:
    """The query, and which columns of it are read: others may come and go."""
    return {**describe(query), "read": {name: list(s.columns) for name, s in trimmed(query).streams.items()}}


def _in_order(query: Query, saved: Mapping[str, Any]) -> Query:
    """The query with columns, and streams, in the saved order.

    Not its streams where rows are counted or changes are shown: there rows of one time go in the order of declaration.
    """
    if set(query.names) != set(saved["streams"]):
        return query
    fixed = counted(query) or query.signed or query.attachments
    names = query.names if fixed else tuple(saved["streams"])
    streams = {
        name: attrs.evolve(
            query.streams[name],
            columns=_ordered(query.streams[name].columns, saved["streams"][name]["columns"]),
        )
        for name in names
    }
    classes = tuple(
        attrs.evolve(c, members=_ordered(c.members, names), types=_ordered(c.types, names))
        for c in query.key_classes
    )
    return changed(query, streams=streams, key_classes=classes)


def _difference(saved: Mapping[str, Any], query: Query, checkpoint: str) -> str | None:
    """The first thing in which a query is not the saved one, if there is any."""
    given, read = _described(query), saved["read"]
    saved = current(saved, checkpoint)
    for name in set(given["streams"]) & set(saved["streams"]):
        either = {*given["read"][name], *read[name]}
        for described in (given, saved):
            of = described["streams"][name]
            of["columns"] = {column: kind for column, kind in of["columns"].items() if column in either}
    # Results of a join have the same columns by name; the state of other queries knows their order.
    if sorted(given["select"]) == sorted(saved["select"]) and not (query.signed or query.attachments):
        given["select"] = saved["select"]
    return next(differences(saved, given, "the checkpoint"), None)


def _ordered(found: Mapping[str, Any], names: Any) -> dict[str, Any]:
    """What a mapping has, in this order; what is not named comes last."""
    return {name: found[name] for name in dict.fromkeys((*names, *found)) if name in found}

"""`eddy.run(..., final=True)`: groups as they are at the end of a run, instead of each change of them."""

from __future__ import annotations

from collections.abc import Mapping

from eddy.errors import EddyError
from eddy.query.query import Query
from eddy.sources.base import Source

UNSORTED = (
    "ORDER BY, LIMIT and OFFSET sort and cut the groups as they are at one time, and this run gives all changes of all "
    "groups: give final=True for the groups at its end, sorted and cut (or read engine.table())"
)


def check_final(queries: Mapping[str, Query], sources: Mapping[str, Source], limit: object) -> None:
    """EddyError for what has no groups at its end. One query has no name."""
    for name, query in queries.items():
        if not query.grouped:
            raise EddyError(
                f"final= gives groups, and {name or 'this query'} has none, so its results are final as they come: "
                "leave final= out" + (", or run it by itself" if len(queries) > 1 else "")
            )
    for name, source in sources.items():
        if not source.bounded:
            raise EddyError(
                f"final= gives the groups at the end of all sources, and {name} has no end: leave follow out, of "
                f"{source}, or leave final= out"
            )
    if limit is not None:
        raise EddyError("limit= counts changes, and final= gives none: write LIMIT in the query")


def check_same(before: bool, final: bool) -> None:
    """EddyError where a checkpoint is of a run that gave something else."""
    if before != final:
        was, now = ("the groups at its end", "changes") if before else ("changes", "the groups at its end")
        raise EddyError(
            f"the checkpoint is of a run that writes {was}, and this one writes {now}: give final={before}, or another "
            "folder of checkpoints"
        )

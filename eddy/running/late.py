"""Late rows that end a run: where they stand."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from eddy.errors import OrderError
from eddy.results.result import Result
from eddy.running.feeds import Feed

HELP = ". Give more lateness=, or late='drop' or late='keep:FILE', which go on without such rows"


def placed(results: Iterator[Result], feeds: Sequence[Feed]) -> Iterator[Result]:
    """The same results; an error about a late row names its file, and its line or row there."""
    try:
        yield from results
    except OrderError as error:
        if error.late is None:
            raise
        name, row, said = error.late
        feed = next(feed for feed in feeds if feed.name == name)
        raise OrderError(f"{feed.place(row)} (stream {name}) {said}", HELP) from error

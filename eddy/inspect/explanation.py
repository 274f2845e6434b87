"""The answer to why some rows gave a result, or none."""

from __future__ import annotations

from attrs import field, frozen

RESULT, NOT_ARRIVED, FILTERED = "result", "not arrived", "filtered"
WINDOW, PREDICATE, FORGOTTEN = "window", "predicate", "forgotten"


@frozen(str=False, unsafe_hash=False)
class Explanation:
    """What became of a combination of rows, one of each stream. `str()` of it is a sentence or two.

    `verdict` is the first of these that applies:

    - "not arrived": a row has not arrived yet (a row that was refused as late never gets a number);
    - "filtered": a filter on one stream, or a key that equals nothing (NULL, NaN), ruled a row out;
    - "window": a row had left its window when the last of the rows arrived;
    - "predicate": a predicate between the streams does not hold;
    - "forgotten": none of these is known, but not enough is known any more to say that there was a result;
    - "result": they gave a result.

    Events are numbered from 0 in the order of arrival, over all streams. What is not known or does
    not apply is None or empty.
    """

    verdict: str
    text: str
    rows: dict[str, int]
    event: int | None = None
    """The event that brought the last of the rows: the moment of the result, if there was one."""
    plan: str | None = None
    """The plan at that event."""
    streams: tuple[str, ...] = ()
    """Those whose rows had not arrived, were filtered, had left their windows, or are forgotten."""
    expired: dict[str, int] = field(factory=dict)
    """For rows that were too old ("window") or are forgotten: the event at which they left their window."""
    predicates: tuple[str, ...] = ()
    """Those that fail; for "forgotten" those that cannot be judged."""

    def __str__(self) -> str:
        return self.text

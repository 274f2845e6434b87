"""Windows in brackets, as SQL text has them behind streams."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from eddy.errors import QueryError
from eddy.query.clock import clock_of, window_numbers
from eddy.query.place import Place, about, at
from eddy.query.stream import Stream
from eddy.query.windows import Range, Rows, Sliding, Tumbling, Unbounded, Width, Window, uses_time

_WORDS = ("ROWS", "RANGE", "TUMBLING", "UNBOUNDED", "STATIC")
_ELEMENT = (
    "a field of a struct is written A.x.field; push the elements of a list as columns or rows, or write a function of "
    "your own, eddy.function"
)


def windows_of(
    sources: Sequence[tuple[str, Sequence[tuple[int, int]]]],
    plain: str,
    text: str,
    brackets: list[tuple[int, str]],
) -> tuple[dict[str, Window | None], dict[str, Place]]:
    """Each bracket belongs to the stream whose name or alias it stands behind; None for a static one. And its place.

    ``sources`` are the streams, and where their names and aliases stand; ``plain`` is the text without brackets.
    """
    windows: dict[str, Window | None] = {}
    places: dict[str, Place] = {}
    for position, content in brackets:
        place = (text, position, position + len(content) + 2)
        behind = [(end, name) for name, spans in sources for start, end in spans if start < position]
        end, found = max(behind, default=(0, ""))
        if not found or plain[end + 1 : position].strip():
            told = f"the window [{content}] stands behind no stream: write it after one in FROM"
            if (content.split() or [""])[0].upper() not in _WORDS:
                told = f"[{content}] is no window, and expressions have no lists: {_ELEMENT}"
            raise about(place, QueryError(told))
        for owner in dict.fromkeys(name for other, name in behind if other == end):  # WITH may be read twice
            if owner in windows:
                raise about(place, QueryError(f"stream {owner} has two windows: leave [{content}] out"))
            with at(place):
                windows[owner] = None if content.strip().upper() == "STATIC" else window(content)
            places[owner] = place
    return windows, places


def check_time(streams: Mapping[str, Stream], places: Mapping[str, Place]) -> None:
    """Refuse windows of time that do not fit the times of the streams, where they are written."""
    first = next((name for name, stream in streams.items() if uses_time(stream.window)), None)
    with at(None if first is None else places.get(first)):
        clock = clock_of(streams)
    for name, stream in streams.items():
        with at(places.get(name)):
            window_numbers({name: stream}, clock)


def window(content: str) -> Window:
    """The window that a bracket holds, such as `ROWS 10000`."""
    word, _, rest = " ".join(content.split()).partition(" ")
    word, width = word.upper(), _width(rest)
    slide = re.split(r"\bSLIDE\b", rest, flags=re.IGNORECASE)
    rows = re.fullmatch(r"(\d[\d_]*) ROWS?", rest, re.IGNORECASE)
    if word == "ROWS" and isinstance(width, int):
        return Rows(width)
    if word == "RANGE" and len(slide) == 2 and all(map(str.strip, slide)):
        return Sliding(_width(slide[0]), every=_width(slide[1]))
    if word == "RANGE" and rest and len(slide) == 1:
        return Range(width)
    if word == "TUMBLING" and rest:
        return Tumbling(rows=int(rows[1])) if rows else Tumbling(time=width)
    if word == "UNBOUNDED" and not rest:
        return Unbounded()
    raise QueryError(
        f"unknown window [{content}]: use [ROWS 1000], [RANGE 5 MINUTES], [RANGE 300], "
        "[RANGE 1 HOUR SLIDE 5 MINUTES], [TUMBLING 100 ROWS], [TUMBLING 5 MINUTES], [UNBOUNDED] or [STATIC]"
    )


def _width(text: str) -> Width:
    """A width of time: `300`, `5 MINUTES`, `'5 minutes'`, `INTERVAL '5' MINUTE` or `INTERVAL '5 minutes'`."""
    text = text.strip()
    interval = re.fullmatch(r"INTERVAL\s+'([^']*)'\s*(\w*)", text, re.IGNORECASE)
    if interval:
        return f"{interval[1]} {interval[2]}".strip()
    text = text.strip("'")
    return int(text) if re.fullmatch(r"\d[\d_]*", text) else text

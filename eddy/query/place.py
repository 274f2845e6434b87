"""Places: which part of a text an error is about.

`parse_sql` notes for every token's node where it stands in the text that the user wrote. What is put in the place of a
node later takes over its place. While a node is translated, `at` gives its place to an error that has none yet, so that
the deepest node that is known wins; the doors of a query, which are marked with `shows_places`, add the line and its
carets behind the error's text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import ParamSpec, TypeVar

from sqlglot import exp

from eddy.errors import QueryError

Place = tuple[str, int, int]
"""A text, and from where to where in it, the end excluded."""
At = exp.Expr | Place | None

_KEY = "place"
_MOST = 96
"""Columns of a line that are shown, at most."""
_QUOTED = re.compile(r"""'(?:[^']|'')*'|"(?:[^"]|"")*\"""")

P = ParamSpec("P")
T = TypeVar("T")
N = TypeVar("N", bound=exp.Expr)


def note_places(tree: exp.Expr, text: str, offset: int = 0) -> None:
    """Have each node of a tree know its place in the text, which begins at an offset of what was parsed."""
    for node in tree.walk():
        if "start" in node.meta:
            node.meta[_KEY] = (text, node.meta["start"] - offset, node.meta["end"] + 1 - offset)


def place_of(where: At) -> Place | None:
    """From the first to the last token below a node, parentheses made whole; None if it was never written."""
    if where is None or isinstance(where, tuple):
        return where
    found = [node.meta[_KEY] for node in where.walk() if _KEY in node.meta]
    if not found:
        return None
    text = found[0][0]
    spans = [(start, end) for of, start, end in found if of == text]
    return (text, *_balanced(text, min(start for start, _ in spans), max(end for _, end in spans)))


def in_place_of(new: N, old: exp.Expr) -> N:
    """A tree that stands where another one was written."""
    place = place_of(old)
    for node in new.walk():
        node.meta.pop(_KEY, None)
    if place is not None:
        new.meta[_KEY] = place
    return new


@contextmanager
def at(where: At) -> Iterator[None]:
    """An error that comes from here is about this place, if it is not about a part of it."""
    try:
        yield
    except QueryError as error:
        about(where, error)
        raise


def about(where: At, error: QueryError) -> QueryError:
    """The error, about this place unless it has one."""
    if error.place is None:
        error.place = place_of(where)
    return error


def shows_places(door: Callable[P, T]) -> Callable[P, T]:
    """A function whose errors show the place that they are about."""

    @wraps(door)
    def opened(*args: P.args, **kwargs: P.kwargs) -> T:
        try:
            return door(*args, **kwargs)
        except QueryError as error:
            shown = "" if error.place is None else rendered(error.place)
            if shown not in str(error):  # a door within a door
                error.args = (f"{error}\n{shown}",)
            raise

    return opened


def rendered(place: Place) -> str:
    """The line of a place, with carets under it; of a long line, what is around them."""
    text, start, end = place
    first = text.rfind("\n", 0, start) + 1
    line = re.split(r"[\r\n]", text[first:], maxsplit=1)[0]
    column = start - first
    width = max(1, min(end - first, len(line)) - column)
    number = text.count("\n", 0, start) + 1
    cut = max(0, min(column - _MOST // 3, len(line) - _MOST))
    part = line[cut : cut + _MOST]
    before, after = "..." * (cut > 0), "..." * (cut + _MOST < len(line))
    blank = "".join("\t" if letter == "\t" else " " for letter in before + part[: column - cut])
    carets = "^" * min(width, max(1, len(part) - (column - cut)))
    return f"line {number}, column {column + 1}:\n  {before}{part}{after}\n  {blank}{carets}"


def _balanced(text: str, start: int, end: int) -> tuple[int, int]:
    """The same with the parentheses that it lacks, where these stand right beside it."""
    inside = _QUOTED.sub("", text[start:end])
    depth = lowest = 0
    for letter in inside:
        depth += (letter == "(") - (letter == ")")
        lowest = min(lowest, depth)
    for _ in range(-lowest):
        before = text[:start].rstrip()
        if not before.endswith("("):
            return start, end
        start = len(before) - 1
    for _ in range(depth - lowest):
        after = text[end:]
        if not after.lstrip().startswith(")"):
            return start, end
        end += len(after) - len(after.lstrip()) + 1
    return start, end

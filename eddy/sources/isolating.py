"""What in a block cannot be read, and all the rest: a block that fails is halved until only what is bad fails."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def isolated(
    read: Callable[[int, int], T | Exception], start: int, stop: int
) -> tuple[list[T], list[tuple[int, Exception]]]:
    """All that ``read(start, stop)`` can read of items from start to stop, and each that it cannot, with its error.

    ``read`` returns an error in the place of what it reads. A bad item costs two reads for each halving.
    """
    good: list[T] = []
    bad: list[tuple[int, Exception]] = []
    todo = [(start, stop)]
    while todo:
        first, last = todo.pop()
        found = read(first, last)
        if not isinstance(found, Exception):
            good.append(found)
        elif last - first == 1:
            bad.append((first, found))
        else:
            middle = (first + last) // 2
            todo += [(middle, last), (first, middle)]
    return good, bad

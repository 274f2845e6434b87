"""What in a block cannot be read, and all the rest: a block that fails is halved until only what is bad fails."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

MANY = 8
"""Bad lines of a block from which on those that look bad are told from the others: to look at all costs as much."""

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


def isolated_lines(
    read: Callable[[Sequence[int]], T | Exception], suspect: Callable[[int], bool], count: int
) -> tuple[list[tuple[T, Sequence[int]]], list[tuple[int, Exception]]]:
    """The same of lines, of which ``read`` reads some by their numbers. What it has read is not in order.

    Once many are bad, lines that are ``suspect`` are read alone, and all others together. Only ``read`` decides: one
    that is suspect and good costs a read, and one that is bad and not suspect is found by halving.
    """
    good: list[tuple[T, Sequence[int]]] = []
    bad: list[tuple[int, Exception]] = []
    todo: list[Sequence[int]] = [range(count)]
    looked = False
    while todo:
        if len(bad) >= MANY and not looked:
            looked = True
            rest = sorted(number for some in todo for number in some)
            alone = {number for number in rest if suspect(number)}
            others = [number for number in rest if number not in alone]
            todo = [*([number] for number in sorted(alone)), *([others] if others else [])]
        some = todo.pop()
        found = read(some)
        if not isinstance(found, Exception):
            good.append((found, some))
        elif len(some) == 1:
            bad.append((some[0], found))
        else:
            middle = len(some) // 2
            todo += [some[middle:], some[:middle]]
    return good, sorted(bad, key=lambda one: one[0])

"""What composites and rows are matched by: the words of their keys, and what the nearest partner is chosen by."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from eddy.attachments.layout import Int64s
from eddy.attachments.reader import Reader
from eddy.query.attachment import Attachment, Equal, valid_of
from eddy.values.types import Column


@frozen(eq=False)
class Matched:
    """Of composites, or of rows of the attached stream."""

    words: Int64s
    """[lines, words of the key]"""
    valid: NDArray[np.uint8]
    """Which of them can match at all."""
    values: Int64s
    """What the nearest partner is chosen by; zeros where none is."""


class Keys:
    """The keys of an attachment."""

    def __init__(self, attachment: Attachment) -> None:
        self._equal, self._nearest, self._loose = attachment.equal, attachment.nearest, attachment.loose
        words = 2 if self._loose is not None else sum(1 + equal.nulls for equal in attachment.equal)
        self.words = max(1, words)

    def of_composites(self, rows: Int64s, reader: Reader) -> Matched:
        """By the row numbers of composites: [composites, streams]."""
        if not len(rows):
            return self._matched([], 0, True)
        columns = [
            reader.coded(side.stream, side.column, np.ascontiguousarray(rows[:, reader.places[side.stream]]))
            for side in (equal.left for equal in self._compared)
        ]
        return self._matched(columns, len(rows), True)

    def of_rows(self, columns: Mapping[str, Column], n: int) -> Matched:
        """By the columns of rows of the stream."""
        found = [columns[equal.right.column] for equal in self._compared] if n else []
        return self._matched(found, n, False)

    def of_held(self, stream: str, rows: Int64s, reader: Reader) -> Matched:
        """By the numbers of rows of the stream that are stored."""
        columns = [reader.coded(stream, equal.right.column, rows) for equal in self._compared]
        return self._matched(columns, len(rows), False)

    @property
    def _compared(self) -> list[Equal]:
        """What is read of both sides, in the order in which `_matched` takes it."""
        others = [] if self._nearest is None else [self._nearest.equal]
        if self._loose is not None:
            others.append(self._loose)
        return [*self._equal, *others]

    def _matched(self, columns: Sequence[Column], n: int, left: bool) -> Matched:
        keys, values = np.zeros((n, self.words), np.int64), np.zeros(n, np.int64)
        if not n:
            return Matched(keys, np.zeros(0, np.uint8), values)
        if self._loose is not None:
            side = self._loose.left if left else self._loose.right
            keys[:, 0], keys[:, 1] = self._loose.loose_words(side.stream, columns[0], left)
            return Matched(keys, np.ones(n, np.uint8), values)
        masks, word = [], 0
        for equal, column in zip(self._equal, columns, strict=False):
            side = equal.left if left else equal.right
            words, valid = equal.words(side.stream, column)
            for values_of in words:
                keys[:, word] = values_of
                word += 1
            masks.append(valid)
        if self._nearest is not None:
            side = self._nearest.equal.left if left else self._nearest.equal.right
            values, valid = self._nearest.values(side.stream, columns[-1])
            masks.append(valid)
        mask = valid_of(*masks)
        here = np.ones(n, np.uint8) if mask is None else mask.astype(np.uint8)
        return Matched(keys, here, np.ascontiguousarray(values))

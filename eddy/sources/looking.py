"""A look through a source before it is read, for the disorder of its times; what fits is kept, and not read again."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa
from attrs import define

from eddy.sources.base import Piece, Source
from eddy.sources.progress import worst

LETTER = 600
"""Bytes that a bad row takes, about."""


def looked(
    source: Source, alone: Source, column: str, kind: pa.DataType, room: int
) -> tuple[int | None, Source]:
    """How far times go back in a source, and the same source with its first rows, of about ``room`` bytes, at hand.

    ``alone`` is the source with its times alone, and has the same positions: it is read where there is no more room.
    """
    kept: deque[Piece] = deque()
    more = False

    def pieces() -> Iterator[Piece]:
        nonlocal more
        left = room
        for piece in source.read(None):
            assert isinstance(piece, Piece)
            kept.append(piece)
            yield piece
            left -= LETTER * len(piece.bad) + (0 if piece.rows is None else piece.rows.nbytes)
            if left <= 0:
                more = True
                for other in alone.read(piece.position):
                    assert isinstance(other, Piece)
                    yield other
                return

    most = worst(pieces(), column, kind)
    return most, AtHand(source, kept, source.ahead and more)


@define(eq=False)
class AtHand(Source):
    """A source whose first pieces were read already. They are let go as they are asked for."""

    source: Source
    kept: deque[Piece]
    ahead: bool = False

    def __attrs_post_init__(self) -> None:
        of = self.source
        self.schema, self.time, self.name = of.schema, of.time, str(of)
        self.bounded, self.seekable = of.bounded, of.seekable

    def committed(self, position: Any) -> None:
        self.source.committed(position)

    def narrowed(self, columns: Mapping[str, pa.DataType], batch: int | None = None) -> Source:
        return self.source.narrowed(columns, batch)

    def read(self, position: Any) -> Iterator[tuple[Any, Any] | Piece]:
        while position is None and self.kept:
            piece = self.kept.popleft()
            yield piece
            if not self.kept:
                position = piece.position
        yield from self.source.read(position)

    def size(self) -> int | None:
        return self.source.size()

    def reached(self, position: Any) -> int | None:
        return self.source.reached(position)

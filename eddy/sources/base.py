"""What a source is: rows of one stream, in batches, each with the position behind it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa
from attrs import field, frozen

from eddy.sources.inferring import Inferred

BATCH = 16_384
"""Rows of a batch, about, where nobody asks for another number."""


@frozen
class Bad:
    """Something that is no row, and why."""

    reason: str
    content: str = ""
    """What stood there, cut to a few hundred characters."""
    row: int | None = None
    """Its line or row in the file, from 1 on; None if it is about all of them."""
    rows: int = 1
    """How many rows it is about."""
    file: str | None = None
    """Where it stands, if that is not where its piece does."""


@frozen
class Seen:
    """What was seen of the columns of a source whose schema may name some of them only."""

    names: tuple[str, ...]
    """Those that it has."""
    named: tuple[str, ...]
    """Those that its schema names."""
    whole: bool = True
    """Whether it has no others; else only its beginning was seen."""
    keys: bool = False
    """Whether a row may lack any of them."""

    def absent(self) -> list[str]:
        """Those that its schema names, and that were not seen."""
        return [name for name in self.named if name not in self.names]


def joined(found: pa.Schema, given: Mapping[str, object] | pa.Schema) -> Mapping[str, object] | pa.Schema:
    """All columns that were found, in their order, with the types that somebody has given."""
    kinds: dict[str, object] = dict(zip(found.names, found.types, strict=True))
    if isinstance(given, pa.Schema):
        return pa.schema(list((kinds | dict(zip(given.names, given.types, strict=True))).items()))
    return {**kinds, **given}


def names_in(schema: Mapping[str, object] | pa.Schema) -> tuple[str, ...]:
    """The columns that a schema names."""
    return tuple(schema.names if isinstance(schema, pa.Schema) else schema)


@frozen(eq=False)
class Piece:
    """Some rows of a source, and where they stand: what a source may yield in the place of a pair."""

    rows: Any
    """A batch as `Eddy.push` takes it; None if there is nothing at the moment, and there may be more later."""
    position: Any
    """Where to go on behind these rows: anything that JSON can hold."""
    bad: tuple[Bad, ...] = ()
    file: str | None = None
    first: int = 1
    """The line or row in the file of the first row."""
    lines: Any = field(default=None)
    """The line or row of each row, where they do not follow each other."""
    files: Any = field(default=None)
    """The file of each row, where they are of several: what can be indexed and sliced."""

    def line(self, row: int) -> int | None:
        """Where in the file a row of the batch stands; None where rows have places and no numbers."""
        if self.lines is None and self.files is not None:
            return None
        return self.first + row if self.lines is None else int(self.lines[row])

    def place(self, row: int) -> str | None:
        """In which file a row of the batch stands."""
        return self.file if self.files is None else str(self.files[row])


class Source:
    """Rows of one stream. A subclass has a schema, and `read`; all else may stay as it is.

    class Numbers(eddy.Source):
        schema = {"ts": "int64", "k": "int64"}

        def read(self, position):
            for start in range(position or 0, 1000, 100):
                ts = list(range(start, start + 100))
                yield {"ts": ts, "k": [t % 7 for t in ts]}, start + 100
    """

    schema: Mapping[str, object] | pa.Schema
    """Columns and their types."""
    bounded: bool = True
    """Whether it ends by itself."""
    seekable: bool = True
    """Whether `read` can go back to a position; else there are no checkpoints of it."""
    time: str | None = None
    """The column of its time; None: `ts`, or its only timestamp."""
    name: str = ""
    """What messages call it."""
    static: bool = False
    """Whether it is a relation that is loaded once, for a text query that does not say so."""
    ahead: bool = False
    """Whether another thread may read it, and a piece before it is asked for: what libraries read without Python."""
    inferred: Inferred | None = None
    """What its columns seem to be, where nobody says it: it can be read as others, too."""
    seen: Seen | None = None
    """What was seen of its columns, where it has a schema; None: nobody has looked."""

    def read(self, position: Any) -> Iterator[tuple[Any, Any] | Piece]:
        """Yield (batch, position) for the rows behind ``position``, None at the beginning.

        A position is anything that JSON can hold. A batch None says that there is nothing at the moment. The rows
        behind a position are the same whenever it is asked.
        """
        raise NotImplementedError(f"{type(self).__name__} has no read(self, position)")

    def committed(self, position: Any) -> None:
        """Rows before a position are never asked for again: what was kept for them may go. It does not raise."""

    def narrowed(self, columns: Mapping[str, pa.DataType], batch: int | None = None) -> Source:
        """This source, of which only these columns are wanted, in about so many rows at a time. It may give others."""
        return self

    def completed(self) -> Source:
        """The same with the columns that it has beside those that its schema names, as far as that can be seen."""
        return self

    def there(self) -> bool:
        """Whether it exists yet; one that does not is waited for, if it can come later. Asked when a run begins."""
        return True

    def size(self) -> int | None:
        """How much there is, in units of its own; None: nobody knows."""
        return None

    def reached(self, position: Any) -> int | None:
        """How much of `size` lies before a position."""
        return None

    def disorder(self, column: str, kind: pa.DataType) -> int | None:
        """How far times in a column of this type go back, at most, below one that came before; None: unknown."""
        return None

    def look(self, column: str, kind: pa.DataType, room: int) -> tuple[int | None, Source]:
        """The same, of a source that may be read twice, and the source to read: about ``room`` bytes are at hand."""
        return self.narrowed({column: kind}).disorder(column, kind), self

    def __str__(self) -> str:
        return self.name or type(self).__name__

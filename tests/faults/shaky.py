"""A source whose connection breaks: every piece that it gives is a step."""

from __future__ import annotations

import eddy


def piece_read(source):
    """A source has read a piece: for those who count steps."""


class Shaky(eddy.Source):
    """Stands before a source."""

    def __init__(self, source):
        self.source = source
        self.schema, self.bounded, self.time, self.name = (
            source.schema,
            source.bounded,
            source.time,
            source.name,
        )

    def read(self, position):
        for piece in self.source.read(position):
            Shaky.step(self.source)
            yield piece

    step = staticmethod(piece_read)

    def narrowed(self, columns, batch=None):
        return Shaky(self.source.narrowed(columns, batch))

    def look(self, column, kind, room):
        most, source = self.source.look(column, kind, room)
        return most, Shaky(source)

    def disorder(self, column, kind):
        return self.source.disorder(column, kind)

    def __str__(self):
        return str(self.source)

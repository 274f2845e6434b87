"""A schema may name some of the columns of a source: all are there, and one that the source lacks is told of."""

from __future__ import annotations

import difflib
import warnings

from eddy.errors import EddyError
from eddy.query.names import nearest
from eddy.sources.base import Source

NEAR = 0.75
"""How alike names are, at least, of which one is taken for a mistake in the other."""


def completed(source: Source) -> Source:
    """A source with all columns that it has, those that its schema does not name among them, if anybody can say.

    EddyError if it is a file that is not there, and that nobody waits for.
    """
    try:
        return source.completed()
    except EddyError:
        if source.bounded and not source.there():
            raise
        return source


def checked(source: Source) -> Source:
    """The same; EddyError if it lacks a column that its schema names, a warning where only its beginning does.

    Rows of JSON lines may lack any column: there it is an error if it is nearly the name of another one.
    """
    source = completed(source)
    seen = source.seen
    for name in () if seen is None else seen.absent():
        assert seen is not None
        others = [other for other in seen.names if other not in seen.named]
        likely = difflib.get_close_matches(name, others, n=1, cutoff=NEAR)
        known = f"did you mean {likely[0]}?" if likely else nearest(name, seen.names)
        if seen.whole and (likely or not seen.keys):
            raise EddyError(f"schema: {source} has no column {name}: {known}")
        where = "" if seen.whole else " as far as it was looked at"
        warnings.warn(f"schema: {source} has no column {name}{where}: {known}", stacklevel=2)
    return source

"""What a stage does, as bits of one number."""

from __future__ import annotations

from eddy.query.attachment import AntiJoin, Attachment, SemiJoin

PAIRS = 1
"""A composite is given with each of its partners."""
KEEPS_LEFT = 2
"""A composite without a partner is given with NULLs."""
KEEPS_RIGHT = 4
"""A row that is no composite's partner is given with NULLs."""
SEMI = 8
"""A composite is given once if it has a partner."""
ANTI = 16
"""A composite is given if it has none."""
NEAREST = 32
"""A composite takes one partner when it comes, and keeps it."""
CHANGES = 64
"""What is given holds at every event: it is withdrawn when it does no longer."""
FURTHER = 128
"""Somebody has to know of the ends of what is given."""
SOLE = 256
"""One partner tells as much as all of them: there is no predicate beside the keys."""
STRICT = 512
"""The nearest partner comes before the composite, not with it."""
ORDERED = 1024
"""What the nearest partner is chosen by ascends with the rows."""

LOOSE = 2048
"""NULL is everybody's partner."""
BANDED = 4096
"""Partners have a measure between two bounds of the composite."""
KEYLESS = 8192
"""All have one key."""
IN_TURN = 16384
"""Composites end in the order in which they came."""


def flags_of(attachment: Attachment, changes: bool, further: bool, banded: bool, in_turn: bool) -> int:
    """Those of the stage of an attachment; ``further``: another stands behind it."""
    join, nearest = attachment.join, attachment.nearest
    asks = isinstance(join, (SemiJoin, AntiJoin))
    return sum(
        flag
        for flag, on in (
            (PAIRS, join.pairs),
            (KEEPS_LEFT, join.keeps_left),
            (KEEPS_RIGHT, join.keeps_right),
            (SEMI, isinstance(join, SemiJoin)),
            (ANTI, isinstance(join, AntiJoin)),
            (NEAREST, join.nearest),
            (CHANGES, changes),
            (FURTHER, further),
            (SOLE, asks and attachment.residual is None),
            (STRICT, nearest is not None and nearest.strict),
            (ORDERED, nearest is not None and nearest.ordered),
            (LOOSE, attachment.loose is not None),
            (BANDED, banded),
            (KEYLESS, not attachment.equal and attachment.loose is None),
            (IN_TURN, in_turn),
        )
        if on
    )

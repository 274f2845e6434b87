"""What a STAIR is: keyed stores of join results in which a key may be a hole, and the kernels that work on them."""

from __future__ import annotations

from stairs.directory import Directory
from stairs.ring import Ring
from stairs.sorted_index import SortedIndex
from stairs.stair import Stair

__all__ = ["Directory", "Ring", "SortedIndex", "Stair"]

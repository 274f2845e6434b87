"""Migration techniques: when the holes that a plan change leaves are filled."""

from __future__ import annotations

from policies.migration.base import Migration
from policies.migration.jisc import Jisc

__all__ = ["Jisc", "Migration"]

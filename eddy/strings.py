"""String interning (numbers first; the kernels follow)."""

from __future__ import annotations

from attrs import define


@define(eq=False)
class StringPool:
    """Codes for strings."""

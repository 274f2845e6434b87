"""Whether an engine's rows are dealt out to several threads."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeGuard

if TYPE_CHECKING:
    from eddy.shards import Crew


def is_crew(router: object) -> TypeGuard[Crew]:
    """Whether this is a crew in the place of a router. It is told by what it has: its class has kernels to compile."""
    return hasattr(router, "shards")

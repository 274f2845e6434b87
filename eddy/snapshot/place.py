"""Where snapshots lie: a path, an address that fsspec knows, or something of the library's own."""

from __future__ import annotations

import os
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

if TYPE_CHECKING:
    from eddy.snapshot.format import SnapshotFile
    from eddy.state import EngineState


@runtime_checkable
class Place(Protocol):
    """Takes snapshots and gives them back in a way of its own: `engine.save` and `Eddy.load` leave it to that."""

    def save(self, state: EngineState, metadata: Any) -> None:
        """Take a snapshot of an engine, which is not in the middle of a push, and which no one else changes."""

    def opened(self) -> AbstractContextManager[SnapshotFile]:
        """The snapshot, to be read; StateError says what is wrong if it cannot be."""


Path = str | os.PathLike[str] | Place

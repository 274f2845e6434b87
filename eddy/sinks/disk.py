"""Files that survive a crash: what is written is forced to the disk, and so are the names of files."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator

from eddy.errors import EddyError


def force(file: int) -> None:
    """The bytes of an open file, to the disk."""
    os.fsync(file)


def force_folder(path: str) -> None:
    """The names in a folder, to the disk. Some file systems cannot."""
    with contextlib.suppress(OSError):
        descriptor = os.open(path or ".", os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def rename(old: str, new: str) -> None:
    """Give a file another name, in place of what has it, in one step that lasts."""
    os.replace(old, new)
    force_folder(os.path.dirname(new))


@contextlib.contextmanager
def explained(path: str) -> Iterator[None]:
    """Errors of the system as ones that name the file."""
    try:
        yield
    except OSError as error:
        raise EddyError(f"cannot write {path}: {error.strerror or error}") from error

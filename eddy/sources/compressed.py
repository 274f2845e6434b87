"""Compressed files, which may be damaged: they are read up to where they can be."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any, BinaryIO

import pyarrow as pa

from eddy.shown import first_line

CHUNK = 1 << 16
"""Bytes that are decompressed at a time, at most: where that fails, they are tried again one by one."""


class Decompressed(io.RawIOBase):
    """The content of a compressed file. Where it is damaged, or cut, it ends, and `damage` says why."""

    def __init__(self, opened: Callable[[], BinaryIO], kind: str) -> None:
        self._opened, self._kind = opened, kind
        self._stream: Any = pa.CompressedInputStream(opened(), kind)
        self._at = 0
        self.damage: str | None = None

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        size = min(len(buffer), CHUNK)
        read = b"" if self.damage is not None else self._read(size)
        buffer[: len(read)] = read
        self._at += len(read)
        return len(read)

    def _read(self, size: int) -> bytes:
        try:
            return bytes(self._stream.read(size))
        except (OSError, pa.ArrowException) as error:
            self.damage = first_line(error).rstrip(".")
            return self._one_by_one(size)

    def _one_by_one(self, size: int) -> bytes:
        """What there is of the next bytes: a read that fails tells nothing of those before the damage."""
        self._stream.close()
        self._stream = pa.CompressedInputStream(self._opened(), self._kind)
        found = bytearray()
        try:
            for start in range(0, self._at, CHUNK):
                self._stream.read(min(CHUNK, self._at - start))
            while len(found) < size and (one := self._stream.read(1)):
                found += one
        except (OSError, pa.ArrowException):
            pass
        return bytes(found)

    def close(self) -> None:
        if not self.closed:
            self._stream.close()
        super().close()


def decompressed(opened: Callable[[], BinaryIO], kind: str) -> io.BufferedReader:
    """The content of a file that ``opened`` opens."""
    return io.BufferedReader(Decompressed(opened, kind))


def damage_of(file: Any) -> str | None:
    """Why a file ends before its end, if that has been found so far."""
    return getattr(getattr(file, "raw", None), "damage", None)

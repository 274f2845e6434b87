"""Addresses that fsspec knows: which system has them, and files that are written and read as a whole."""

from __future__ import annotations

import contextlib
import re
import secrets
import tempfile
from collections.abc import Callable, Iterator
from typing import Any, BinaryIO

from eddy.errors import EddyError, StateError
from eddy.shown import first_line

_SCHEME = re.compile(r"^([a-zA-Z][a-zA-Z0-9+.-]+)://")
PACKAGES = {
    **dict.fromkeys(("s3", "s3a"), "s3fs"),
    **dict.fromkeys(("gs", "gcs"), "gcsfs"),
    **dict.fromkeys(("az", "abfs", "abfss"), "adlfs"),
    **dict.fromkeys(("sftp", "ssh"), "paramiko"),
    **dict.fromkeys(("http", "https"), "aiohttp requests"),
    "smb": "smbprotocol",
    "hf": "huggingface_hub",
}
"""What fsspec needs for a scheme, beside itself, as pip calls it."""


def scheme_of(path: str) -> str | None:
    """The scheme of an address; None for a path of this machine."""
    found = _SCHEME.match(path)
    return None if found is None or found[1] == "file" else found[1].lower()


def local(path: str) -> str:
    """A path of this machine without the scheme that it may have."""
    return path.removeprefix("file://")


def file_system(address: str) -> tuple[Any, str]:
    """The file system of an address, and the path in it."""
    try:
        import fsspec
    except ImportError as error:
        raise EddyError(
            f"{address} needs fsspec, which is not installed: pip install 'eddy-stairs[remote]'"
        ) from error
    try:
        system, path = fsspec.core.url_to_fs(address)
        return system, str(path) + ("/" if address.endswith("/") and not str(path).endswith("/") else "")
    except ImportError as error:
        package = PACKAGES.get(scheme_of(address) or "")
        command = "" if package is None else f": pip install {package}"
        raise EddyError(f"{address} cannot be used: {error}{command}") from error
    except ValueError as error:
        known = ", ".join(sorted(fsspec.available_protocols())[:12])
        raise EddyError(f"{address}: {error}. fsspec knows {known}, ...") from error
    except Exception as error:  # each system has errors of its own; some connect here
        raise EddyError(f"{address}: {reason_of(error)}") from error


def reason_of(error: Exception) -> str:
    """What an error of a file system says, in a line."""
    return (error.strerror if isinstance(error, OSError) else None) or first_line(error)


def put(address: str, pack: Callable[[BinaryIO], None]) -> None:
    """Write a file elsewhere, in place of one that may be there: it is whole before it gets its name."""
    system, path = file_system(address)
    with tempfile.NamedTemporaryFile(prefix="eddy-") as file:
        pack(file)  # type: ignore[arg-type]
        file.flush()
        unfinished = f"{path}.{secrets.token_hex(8)}.tmp"
        try:
            system.put_file(file.name, unfinished)
            system.mv(unfinished, path)
        except Exception as error:  # each system has errors of its own
            with contextlib.suppress(Exception):
                system.rm_file(unfinished)
            raise StateError(
                f"cannot save to {address!r}: {error}. A snapshot that was there is as it was"
            ) from error


@contextlib.contextmanager
def got(address: str) -> Iterator[BinaryIO]:
    """A file from elsewhere, to be read here."""
    system, path = file_system(address)
    with tempfile.NamedTemporaryFile(prefix="eddy-") as file:
        try:
            system.get_file(path, file.name)
        except Exception as error:  # each system has errors of its own
            told = "there is none" if isinstance(error, FileNotFoundError) else str(error)
            raise StateError(
                f"cannot read the snapshot {address!r}: {told}; give the address that engine.save wrote to"
            ) from error
        with open(file.name, "rb") as whole:
            yield whole

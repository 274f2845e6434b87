"""Delta tables by their addresses: delta:///a/path, delta://a/path (from here on), delta+s3://bucket/path."""

from __future__ import annotations

import os
from typing import Any

from attrs import field, frozen

from eddy.connect.address import Address
from eddy.errors import EddyError

SCHEMES = ("delta", "delta+s3")
"""What addresses of Delta tables begin with."""


@frozen
class Place:
    """Where a Delta table is."""

    uri: str
    """As deltalake has it; a path, if it is on this machine."""
    options: dict[str, str] = field(factory=dict, repr=False)
    """Of its storage."""
    local: bool = True

    def opened(self, version: int | None = None) -> Any:
        """The table, now or at a version; None if there is none."""
        from deltalake import DeltaTable
        from deltalake.exceptions import TableNotFoundError

        if self.local and not os.path.isdir(os.path.join(self.uri, "_delta_log")):
            return None
        try:
            return DeltaTable(self.uri, version=version, storage_options=self.options or None)
        except TableNotFoundError:
            return None


def place_of(address: Address) -> Place:
    """Where the table of an address is. Its options are those of the storage, as deltalake calls them."""
    _, _, store = address.scheme.partition("+")
    if store:
        address.needs_path("table", f"{address.scheme}://bucket/table")
        return Place(f"{store}://{address.hosts}/{address.path}", dict(address.options), False)
    path = f"{address.hosts}/{address.path}".rstrip("/")
    if not path:
        raise EddyError(f"{address} names no table: write delta:///path/of/table")
    return Place(path, dict(address.options))

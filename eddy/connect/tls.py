"""Encrypted connections: whom to believe."""

from __future__ import annotations

import ssl

from eddy.connect.address import Address
from eddy.errors import EddyError


def context(address: Address) -> ssl.SSLContext:
    """For a server whose certificate comes from the system's authorities, or from those in the file ``ca``."""
    try:
        return ssl.create_default_context(cafile=address.options.get("ca"))
    except OSError as error:
        raise EddyError(
            f"{address}: ca={address.options.get('ca')} cannot be read as certificates: {error.strerror or error}"
        ) from error

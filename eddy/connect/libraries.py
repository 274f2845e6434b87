"""The libraries that talk to servers: which scheme needs which, imported when it is used."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from attrs import frozen

from eddy.checks import present, require


@frozen
class Kind:
    """What an address of one scheme is for."""

    module: str
    """Of ours: it has a function `open`, of an `Address` and options, which makes the source or the sink."""
    needs: tuple[str, ...] = ()
    """Modules of others that it imports."""
    extra: str = ""
    """The extra of setup.cfg that installs them."""

    @property
    def installed(self) -> bool:
        """Whether all that it needs is there."""
        return all(map(present, self.needs))

    def load(self, what: object) -> Any:
        """Our module; EddyError if something that it needs is missing."""
        require(what, self.needs, self.extra)
        return import_module(self.module)

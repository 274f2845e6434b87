"""The libraries that talk to servers: which scheme needs which, imported when it is used."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Any

from attrs import frozen

from eddy.errors import EddyError


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


def present(name: str) -> bool:
    """Whether a module can be imported; it may be one within another."""
    try:
        return find_spec(name) is not None
    except ModuleNotFoundError:  # of what it is within
        return False


def require(what: object, needs: tuple[str, ...], extra: str) -> None:
    """EddyError, with the command that installs them, if one of these modules is missing."""
    missing = [name for name in needs if not present(name)]
    if missing:
        raise EddyError(f"{what} needs {', '.join(missing)}: pip install 'eddy-stairs[{extra}]'")

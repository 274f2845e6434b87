"""A server that is away: it is tried again and again, for so long and no longer."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable

from attrs import define, field

from eddy.connect.address import Address
from eddy.errors import EddyError
from eddy.log.events import RUN, Log

RETRY = 60.0
"""Seconds for which a server that has gone away is tried again, where the address does not say ``retry``."""
FIRST, MOST = 0.1, 2.0
"""Seconds between two tries: they double."""
NAP = 0.02
CONNECT = 5.0
"""Seconds in which a server must have answered."""


def check(address: Address, options: Iterable[str]) -> None:
    """EddyError if an address has an option that is none of these, or not the time for which we wait."""
    address.checked((*options, "retry"))
    address.seconds("retry", RETRY)


def unreachable(what: object, error: object) -> EddyError:
    """The error for a server that cannot be reached at all."""
    return EddyError(f"cannot reach {what}: {told(error)}")


def told(error: object) -> str:
    """What an error says, in a line; its kind, if it says nothing."""
    if isinstance(error, ConnectionRefusedError):
        return "the connection is refused: is the server running, and at this port?"
    lines = str(error).strip().splitlines()
    return lines[0] if lines else type(error).__name__


@define(eq=False)
class Patience:
    """How long a server that was there may be away."""

    address: Address
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], object] = time.sleep
    _log: Log = field(init=False, factory=lambda: Log(RUN))
    _most: float = field(init=False)
    _since: float | None = field(init=False, default=None)
    _next: float = field(init=False, default=0.0)
    _pause: float = field(init=False, default=FIRST)

    @_most.default
    def _of_address(self) -> float:
        return self.address.seconds("retry", RETRY)

    def failed(self, error: object) -> None:
        """It is away, or still is; EddyError if it has been for too long."""
        now = self.clock()
        if self._since is None:
            self._since, self._pause = now, FIRST
            self._log.tell("server away", server=str(self.address), error=told(error))
        if now - self._since >= self._most:
            raise EddyError(
                f"{self.address} has been away for {self._most:g} s: {told(error)}; the option retry= of the address "
                "is how long it is waited for"
            )
        self._next, self._pause = now + self._pause, min(2 * self._pause, MOST)

    def fine(self) -> None:
        """It answers."""
        if self._since is not None:
            away, self._since = self.clock() - self._since, None
            self._log.tell("server back", server=str(self.address), seconds=away)

    def due(self) -> bool:
        """Whether to try it now; else a moment passes."""
        if self._since is None or self.clock() >= self._next:
            return True
        self.sleep(NAP)
        return False

    def wait(self) -> None:
        """Until it is to be tried again."""
        while not self.due():
            pass

"""The threads that help with the shards of a batch: when they are hired, called and dismissed."""

from __future__ import annotations

import threading
import time
import weakref
from typing import Any

from eddy.threads.atomic import RINGS
from eddy.threads.layout import MAILBOX
from eddy.threads.team_kernels import (
    CLOSED,
    FEW,
    LOOKS,
    NAP,
    call,
    call_off,
    go_on,
    hang,
    help_out,
    lead,
    open_work,
)
from stairs.lowlevel import struct


class Team:
    """The helpers of one engine; they end when it does."""

    def __init__(self, helpers: int) -> None:
        self.mailbox = struct.new(MAILBOX)
        self._address = struct.address(self.mailbox)
        self.mailbox.taken, self.mailbox.done, self.mailbox.led = CLOSED, CLOSED, -1
        hang(self._address)
        self._helpers, self._missing = helpers, False
        self._hire()
        self._end = weakref.finalize(self, _dismiss, self.mailbox)

    def _hire(self) -> None:
        self._missing = False
        for number in range(self._helpers):
            arguments = (self.mailbox,)
            threading.Thread(target=_help, args=arguments, name=f"eddy-{number}", daemon=True).start()

    def forked(self) -> None:
        """The helpers are in another process: there are new ones here when there is something to do.

        They may have had the lock of the bell, so that is a new one too. The batch that they had last is done.
        """
        self._missing = True
        self.mailbox.asleep = 0
        hang(self._address)

    @property
    def address(self) -> int:
        """By which kernels know it."""
        return self._address

    def rouse(self) -> None:
        """Have them awake when there is something to do: to wake takes longer than to find out what that is."""
        if self._missing:
            self._hire()
        if self.mailbox.asleep:
            call(self._address)

    def announce(self) -> None:
        """Helpers may begin with the batch that the mailbox names, unless there is too little to do."""
        if self._missing and self.mailbox.events >= FEW:
            self._hire()
        portions = self.mailbox.portions
        open_work(self._address, portions, portions)

    def call_off(self) -> None:
        """After an error: nobody is at work on the batch any more."""
        call_off(self._address)

    def go_on(self, shard: int) -> None:
        """Let a shard that had stopped go on with its portion, or take the next."""
        go_on(self._address, shard)

    def lead(self, told: Any) -> int:
        """Do what they have not, and wait for them; see `lead`."""
        made: int = lead(self._address, told)
        return made


def _help(mailbox: Any) -> None:
    """A helper's life."""
    while not mailbox.stop:
        help_out(struct.address(mailbox), LOOKS)
        if not RINGS:
            time.sleep(NAP)


def _dismiss(mailbox: Any) -> None:
    mailbox.stop = 1
    call(struct.address(mailbox))

"""An address: scheme://user:password@host:port/path?option=value, in parts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from urllib.parse import parse_qsl, unquote, urlsplit

from attrs import field, frozen

from eddy.errors import EddyError


@frozen
class Address:
    """The parts of an address. What messages show of it has no password."""

    scheme: str
    hosts: str
    """host:port, or several of them with commas between."""
    path: str
    """Without the slash before it."""
    user: str | None = None
    password: str | None = field(default=None, repr=False)
    options: Mapping[str, str] = field(factory=dict)

    def __str__(self) -> str:
        return f"{self.scheme}://{self.hosts}/{self.path}"

    @property
    def host(self) -> str:
        """The first host, without its port."""
        return self._first[0]

    def port(self, usual: int) -> int:
        """The port of the first host."""
        return usual if self._first[1] is None else self._first[1]

    @property
    def _first(self) -> tuple[str, int | None]:
        name, _, port = self.hosts.partition(",")[0].rpartition(":")
        if port.isdigit() and name:
            return name.strip("[]"), int(port)
        return self.hosts.partition(",")[0].strip("[]") or "localhost", None

    def needs_path(self, what: str, example: str) -> str:
        """The path; EddyError if there is none."""
        if not self.path:
            raise EddyError(f"{self} names no {what}: write {example}")
        return self.path

    def seconds(self, name: str, usual: float) -> float:
        """An option that is a length of time, in seconds."""
        return float(self._number(name, usual, float, "a number of seconds"))

    def whole(self, name: str, usual: int) -> int:
        """An option that is a number from 0 on."""
        return int(self._number(name, usual, int, "a whole number"))

    def _number(self, name: str, usual: float, kind: Callable[[str], float], what: str) -> float:
        try:
            found = kind(self.options[name]) if name in self.options else usual
        except ValueError:
            found = -1
        if not 0 <= found < float("inf"):
            raise EddyError(f"{self}: {name} is {what}, not {self.options[name]!r}")
        return found

    def checked(self, known: Iterable[str]) -> Address:
        """This address; EddyError if it has an option that is none of these."""
        known = tuple(known)
        for name in self.options:
            if name not in known:
                there = f"use {', '.join(known)}" if known else "there are none"
                raise EddyError(f"{self} has no option {name!r}: {there}")
        return self


def parsed(text: str) -> Address:
    """The parts of an address; EddyError if it is none."""
    try:
        found = urlsplit(text, allow_fragments=False)  # sensors/# is a topic of MQTT
        user, _, hosts = found.netloc.rpartition("@")
        name, colon, password = user.partition(":")
        options = dict(parse_qsl(found.query, keep_blank_values=True, strict_parsing=bool(found.query)))
    except ValueError as error:
        raise EddyError(f"{text} is no address: {error}") from error
    return Address(
        found.scheme.lower(),
        hosts,
        unquote(found.path.lstrip("/")),
        unquote(name) or None,
        unquote(password) if colon else None,
        options,
    )

"""Results as JSON lines, posted to an address by HTTP: each at least once."""

from __future__ import annotations

import base64
import time
import uuid
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from typing import Any
from urllib.parse import quote, urlencode

import pyarrow as pa

from eddy.connect.address import Address
from eddy.errors import EddyError
from eddy.sinks.base import Sink
from eddy.sinks.formats import json_bytes

ROWS = 10_000
"""Rows of a request, at most."""
TIMEOUT = 30.0
"""Seconds until an answer is given up."""
AGAIN = (408, 425, 429)
"""Answers that ask for another try, besides all from 500 on."""


def open(address: Address, *, format: str | None) -> Sink:
    """The sink of an address."""
    if format not in (None, "jsonl"):
        raise EddyError(f"{address} is sent JSON lines, not format={format!r}")
    return Posting(address)


class Posting(Sink):
    """Posts rows as they come. A request that fails is sent again, with the same Idempotency-Key."""

    retry = 30.0
    """Seconds for which a request is tried again."""

    def __init__(self, address: Address) -> None:
        self.address = address
        self.target = (
            "/"
            + quote(address.path, safe="/%:@!$&'()*+,;=~")
            + (f"?{urlencode(dict(address.options))}" if address.options else "")
        )
        self._connection: HTTPConnection | None = None
        self._run = uuid.uuid4().hex
        self._number = 0
        self._part = 0

    def open(self, schema: pa.Schema, token: Any) -> None:
        self._number = 0 if token is None else token["number"]

    def write(self, table: pa.Table) -> None:
        for start in range(0, table.num_rows, ROWS):
            self._part += 1
            self._post(json_bytes(table.slice(start, ROWS)), f"{self._run}-{self._number + 1}-{self._part}")

    def prepare(self) -> Any:
        return {"number": self._number + (self._part > 0)}

    def commit(self, token: Any) -> None:
        self._number, self._part = token["number"], 0

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def abandon(self, kept: bool) -> None:
        self.close()

    def _post(self, body: bytes, key: str) -> None:
        """Send it until it was taken; EddyError if it never is."""
        until, pause = time.monotonic() + self.retry, 0.1
        while True:
            try:
                response = self._sent(body, key)
                told = response.read(1000).decode("utf-8", "replace").strip().partition("\n")[0]
                response.read()
            except (OSError, HTTPException) as error:
                self.close()
                problem, wait = str(getattr(error, "strerror", None) or error or type(error).__name__), pause
            else:
                if 200 <= response.status < 300:
                    return
                problem = f"{response.status} {response.reason}{f': {told}' if told else ''}"
                if response.status < 500 and response.status not in AGAIN:
                    where = response.headers.get("Location")
                    raise EddyError(
                        f"{self.address} refuses results: {problem}{f'; it is at {where}' if where else ''}"
                    )
                asked = response.headers.get("Retry-After", "")
                wait = max(pause, float(asked)) if asked.isdigit() else pause
            if time.monotonic() + wait > until:
                raise EddyError(
                    f"{self.address} takes no results: {problem}; it was tried for {self.retry:g} s"
                )
            time.sleep(wait)
            pause = min(2 * pause, 5.0)

    def _sent(self, body: bytes, key: str) -> HTTPResponse:
        if self._connection is None:
            kind = HTTPSConnection if self.address.scheme == "https" else HTTPConnection
            usual = 443 if self.address.scheme == "https" else 80
            self._connection = kind(self.address.host, self.address.port(usual), timeout=TIMEOUT)
        headers = {"Content-Type": "application/x-ndjson", "Idempotency-Key": key, "User-Agent": "eddy"}
        if self.address.user is not None:
            secret = f"{self.address.user}:{self.address.password or ''}".encode()
            headers["Authorization"] = "Basic " + base64.b64encode(secret).decode()
        self._connection.request("POST", self.target, body, headers)
        response = self._connection.getresponse()
        return response

    def __str__(self) -> str:
        return str(self.address)

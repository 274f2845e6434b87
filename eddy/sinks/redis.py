"""Streams of Redis as sinks: a result is an entry.

With checkpoints results are *staged* in a stream of their own for each commit, and `commit` moves them to where they
are wanted, in transactions that also count how many have been moved: so a restart knows. The keys, beside the stream
``results`` of the run ``4f1c``:

    results:eddy:4f1c        a hash: the last commit, and how many of its rows were moved
    results:eddy:4f1c:12:77  the rows of commit 12, with ids 12-1, 12-2, ...; gone when they have been moved. 77 is of
                             the process: what one that has died had on its way stages nothing for the next
"""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Any, TypeVar

import pyarrow as pa
from redis.exceptions import RedisError, WatchError

from eddy.connect import redis as connect
from eddy.connect.address import Address
from eddy.connect.patience import Patience, check
from eddy.connect.redis import AWAY, client, explained
from eddy.errors import EddyError
from eddy.sinks.base import Sink
from eddy.sinks.payloads import check_json, field_payloads, json_payloads

OPTIONS = (*connect.OPTIONS, "maxlen")
EXAMPLE = "redis://localhost:6379/results"
CHUNK = 1000
"""Rows of a transaction."""
UNPREPARED, PREPARED = 86_400, 30 * 86_400
"""Seconds after which staged rows go: those of a process that has died, which may come back if they were prepared."""
T = TypeVar("T")


def open(address: Address, *, format: str | None) -> Sink:
    """The sink that an address is: a field a column, or JSON in the field that the option ``field`` names."""
    check(address, OPTIONS)
    check_json(address, format)
    if format is not None and "field" not in address.options:
        raise EddyError(
            f"{address} gets a field a column; to write {format} into one, name it: {EXAMPLE}?field=data"
        )
    return RedisStream(address, address.needs_path("stream", EXAMPLE))


class RedisStream(Sink):
    """Appends to one stream. A token is the run, the number of the newest commit that is prepared, and its rows."""

    exact = True

    def __init__(self, address: Address, key: str) -> None:
        self.address, self.key = address, key
        self.maxlen = address.whole("maxlen", 0) or None
        self._patience = Patience(address)
        self._server: Any = None
        self._run = uuid.uuid4().hex[:12]
        self._process = uuid.uuid4().hex[:8]
        self._number = 1
        """Of the commit that is being staged."""
        self._rows = 0
        """That are staged of it."""
        self._before = [0, 0]
        """The last commit before it that had rows, and how many."""
        self._checkpoints = False

    def keep_in(self, folder: str) -> None:
        """The server keeps all that it needs; but without checkpoints nothing is staged."""
        self._checkpoints = True

    def open(self, schema: pa.Schema, token: Any) -> None:
        self._server = client(self.address)
        kind = self._until_done(lambda: self._server.type(self.key).decode())
        if kind not in ("none", "stream"):
            raise EddyError(f"{self.address}: {self.key} is a {kind}, not a stream")
        if token is not None:
            self._run, self._number, self._before = token["run"], token["commit"] + 1, token["before"]
            self.commit(token)
            if token["rows"]:
                self._before = [token["commit"], token["rows"]]

    def write(self, table: pa.Table) -> None:
        rows: list[Any] = self._entries(table)
        for start in range(0, len(rows), CHUNK):
            some = rows[start : start + CHUNK]
            if self._checkpoints:
                self._stage(some)
            else:
                self._until_done(lambda some=some: self._append(some))  # type: ignore[misc]

    def prepare(self) -> Any:
        token = {"run": self._run, "commit": self._number - 1, "rows": 0, "before": self._before}
        if not self._rows:
            return token
        name, rows = self._staged, self._rows

        def keep() -> int:
            self._server.expire(name, PREPARED)
            return int(self._server.xlen(name))

        self._check_staged(self._until_done(keep), rows)
        self._before = [self._number, rows]
        self._number, self._rows = self._number + 1, 0
        return {**token, "commit": self._number - 1, "rows": rows, "staged": name}

    def commit(self, token: Any) -> None:
        """Move what was staged of a commit, unless that has been done."""
        if token["rows"]:
            while not self._until_done(lambda: self._moving(token)):
                pass

    def close(self) -> None:
        self.abandon(False)

    def abandon(self, kept: bool) -> None:
        if self._server is not None:
            self._server.close()

    def __str__(self) -> str:
        return str(self.address)

    def _entries(self, table: pa.Table) -> list[Any]:
        if "field" in self.address.options:
            field = self.address.options["field"]
            return [{field: payload} for payload in json_payloads(table)]
        return list(field_payloads(table))

    def _append(self, rows: list[Any]) -> None:
        """Rows straight into the stream: all of them or none; both, if no answer comes and they are sent again."""
        with self._server.pipeline(transaction=True) as together:
            for row in rows:
                together.xadd(self.key, row, maxlen=self.maxlen)
            together.execute()

    def _stage(self, rows: list[Any]) -> None:
        """Rows are numbered, so whoever does not know whether they came can ask, and none can come twice."""
        name, before, sent = self._staged, self._rows, False

        def send() -> bool:
            nonlocal sent
            there = before
            if sent:
                last = self._server.xrevrange(name, count=1)
                there = int(last[0][0].partition(b"-")[2]) if last else 0
                self._check_staged(there, before)
            sent = True
            with self._server.pipeline(transaction=True) as together:
                for number, row in enumerate(rows[there - before :], there + 1):
                    together.xadd(name, row, id=f"{self._number}-{number}")
                together.expire(name, UNPREPARED)
                answers = together.execute(raise_on_error=False)
            errors = [answer for answer in answers if isinstance(answer, RedisError)]
            if any("smaller" not in str(error) for error in errors):
                raise errors[0]
            return not errors  # else what was sent before came while we asked

        while not self._until_done(send):
            pass
        self._rows += len(rows)

    def _moving(self, token: Any) -> bool:
        """Move a chunk of a commit. Whether all of it has been moved, as far as we know."""
        try:
            return self._move(**token)
        except (
            WatchError
        ):  # somebody else has changed the state; or the connection has ended, which is found next
            return False

    def _move(self, run: str, commit: int, rows: int, before: list[int], staged: str) -> bool:
        """Move a chunk of a commit. Whether all of it has been moved.

        A transaction that was sent and not answered may be run at any time: it watches the state, and so does the next
        one, so that only one of them counts.
        """
        state = f"{self.key}:eddy:{run}"
        with self._server.pipeline(transaction=True) as together:
            together.watch(state)
            done = self._moved(together.hmget(state, "commit", "rows"), commit, before)
            if done == rows:
                return True
            self._check_staged(int(together.xlen(staged)), rows - done)
            entries = together.xrange(staged, count=CHUNK)
            together.multi()
            for _, row in entries:
                together.xadd(self.key, row, maxlen=self.maxlen)
            done += len(entries)
            if done == rows:
                together.delete(staged)
            else:
                together.xtrim(staged, minid=f"{commit}-{done + 1}", approximate=False)
            together.hset(state, mapping={"commit": commit, "rows": done})
            together.execute()
        return done == rows

    def _moved(self, state: list[bytes | None], commit: int, before: list[int]) -> int:
        """How many rows of a commit were moved; EddyError unless it is the next one."""
        known = [int(value or 0) for value in state]
        if known[0] == commit:
            return known[1]
        if known[0] > commit:
            raise EddyError(
                f"{self.address} has the results of commit {known[0]} of this run, and the checkpoint is the one "
                "before: they cannot be taken back"
            )
        if known != before:
            raise EddyError(
                f"{self.address} has lost results of commit {before[0]} of this run: it must keep what it has answered "
                "for (appendonly yes, appendfsync always); begin with an empty folder of checkpoints"
            )
        return 0

    def _check_staged(self, found: int, rows: int) -> None:
        if found < rows:
            raise EddyError(
                f"{self.address} has lost {rows - found} results that were staged in {self.key}:eddy:{self._run}: it "
                "must keep what it is given (appendonly yes), for 30 days; begin with an empty folder of checkpoints"
            )

    @property
    def _staged(self) -> str:
        return f"{self.key}:eddy:{self._run}:{self._number}:{self._process}"

    def _until_done(self, ask: Callable[[], T]) -> T:
        """Ask the server, again while it is away."""
        while True:
            self._patience.wait()
            try:
                with explained(self.address):
                    found = ask()
            except AWAY as error:
                self._patience.failed(error)
                continue
            self._patience.fine()
            return found

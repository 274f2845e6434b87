"""What somebody may say to the shell."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from attrs import frozen

from eddy.values.types import ColumnType


@frozen
class Create:
    """CREATE STREAM name (columns) FROM 'path' WITH (options)."""

    name: str
    path: str
    columns: Mapping[str, ColumnType] | None
    options: Mapping[str, Any]
    replace: bool = False


@frozen
class Drop:
    """DROP STREAM name."""

    name: str


@frozen
class Show:
    """SHOW STREAMS, SHOW OPTIONS."""

    what: str


@frozen
class Describe:
    """DESCRIBE name."""

    name: str


@frozen
class Select:
    """A query; ``text`` stands in it where it does in what was given, so that places in errors are right."""

    text: str


@frozen
class Explain:
    """EXPLAIN SELECT: how it would be run."""

    text: str


@frozen
class Check:
    """CHECK SELECT: what it is."""

    text: str


@frozen
class Insert:
    """INSERT INTO 'path' WITH (options) SELECT."""

    path: str
    options: Mapping[str, Any]
    text: str


@frozen
class Set:
    """SET name = value; None for the value: as if it had never been set."""

    name: str
    value: Any


@frozen
class Help:
    """HELP."""


@frozen
class Quit:
    """QUIT, EXIT, \\q."""


Statement = Create | Drop | Show | Describe | Select | Explain | Check | Insert | Set | Help | Quit

"""`--schema`: columns of streams out of files."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

import eddy
from eddy.errors import EddyError

_OF_STREAM = re.compile(r"(\w+)=(.+)")


def schemas_of(given: Sequence[str]) -> dict[str, Any]:
    """The schema of each stream that has one: "schema.json" has those of several, "clicks=like.parquet" that of one."""
    found: dict[str, Any] = {}
    for text in given:
        named = _OF_STREAM.fullmatch(text)
        schemas = _of_several(text) if named is None else {named[1]: _of_one(named[2])}
        for name, schema in schemas.items():
            if name in found:
                raise EddyError(f"the schema of {name} is given twice")
            found[name] = schema
    return found


def _of_several(path: str) -> Mapping[str, Any]:
    written = path.lstrip().startswith("{")
    read = _object(path) if written else _json(path)
    if written and isinstance(read, dict) and read and all(isinstance(of, str) for of in read.values()):
        raise EddyError(f"--schema names no stream: write it before the columns, as in clicks='{path}'")
    if not isinstance(read, dict) or not all(isinstance(of, dict) for of in read.values()):
        raise EddyError(f'the schema {path} is not of the form {{"clicks": {{"ts": "timestamp"}}}}')
    return read


def _of_one(path: str) -> Any:
    """The columns of one stream: a JSON object, written here or in a file, or those that a file of rows has."""
    written = path.lstrip().startswith("{")
    if not written and not path.endswith(".json"):
        return eddy.source(path).schema
    read = _object(path) if written else _json(path)
    if not isinstance(read, dict) or not all(isinstance(kind, str) for kind in read.values()):
        raise EddyError(f'the schema {path} is not of the form {{"ts": "timestamp", "user": "int64"}}')
    return read


def _object(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise EddyError(f"cannot read the schema {text}: it is no JSON, {error}") from error


def _json(path: str) -> Any:
    try:
        with open(path, encoding="utf-8") as file:
            return json.load(file)
    except OSError as error:
        raise EddyError(f"cannot read the schema {path}: {error.strerror or error}") from error
    except ValueError as error:
        raise EddyError(
            f"cannot read the schema {path}: it is no JSON, {error}; for a file of rows name its stream, as in "
            f"clicks={path}"
        ) from error

"""Options that users give, checked: each error says what was wrong and what to give.

The rules are those of `policies.options`, which policies use too; here they raise errors of Eddy's own.
"""

from __future__ import annotations

import os
import re
from importlib.util import find_spec
from typing import TypeVar

from eddy.errors import EddyError
from eddy.shown import shown
from policies.options import Rule, one_of, truth
from policies.options import whole as whole_number

T = TypeVar("T")

COUNT = whole_number(1)
TRUTH = truth()
SEED = whole_number()

UNITS = {"": 1, "b": 1, **{f"{p}{b}": 1024**n for n, p in enumerate("kmgt", 1) for b in ("", "b", "ib")}}
"""Bytes of each unit of memory, by its name in small letters."""


def checked(
    what: str, value: object, rule: Rule[T], verb: str = "must be", error: type[EddyError] = EddyError
) -> T:
    """The value of the option ``what`` as its rule reads it; an error that says what it takes if it does not fit.

    ``verb`` stands between the option and what it takes: "must be", "is", "needs".
    """
    if not rule.fits(value):
        raise error(f"{what} {verb} {rule.takes}, not {shown(value)}")
    return rule.plain(value)


def whole(what: str, value: object) -> int:
    """A whole number of at least 1."""
    return checked(what, value, COUNT)


def seed_number(value: object) -> int:
    """A whole number."""
    return checked("seed", value, SEED)


def flag(what: str, value: object, error: type[EddyError] = EddyError) -> bool:
    """True or False."""
    return checked(what, value, TRUTH, "is", error)


def choice(what: str, value: object, names: tuple[str, ...]) -> str:
    """One of some names."""
    return checked(what, value, one_of(names))


def path_to(what: str, value: object, error: type[EddyError] = EddyError) -> str:
    """The path of a file or folder, as a text; ``what`` says whose, as in "a snapshot is a file"."""
    path = os.fspath(value) if isinstance(value, (str, os.PathLike)) else None
    if not isinstance(path, str) or not path:
        raise error(f"{what}: give its path as a text or a pathlib.Path, not {shown(value)}")
    return path


def bytes_of(value: object) -> int:
    """An amount of memory: bytes, or a text such as "512 MB"."""
    return checked("memory", value, MEMORY, "is")


def _bytes(value: object) -> int:
    """The bytes that are meant; 0 if none are."""
    if not isinstance(value, str):
        return COUNT.plain(value) if COUNT.fits(value) else 0
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([a-zA-Z]*)\s*", value)
    return 0 if found is None else int(float(found[1]) * UNITS.get(found[2].lower(), 0))


MEMORY = Rule("a number of bytes, or a text such as '512 MB'", lambda value: _bytes(value) >= 1, _bytes)


def present(name: str) -> bool:
    """Whether a module can be imported; it may be one within another."""
    try:
        return find_spec(name) is not None
    except ModuleNotFoundError:  # of what it is within
        return False


def require(what: object, needs: tuple[str, ...], extra: str) -> None:
    """EddyError, with the command that installs them, if one of these modules is missing."""
    missing = [name for name in needs if not present(name)]
    if missing:
        raise EddyError(f"{what} needs {', '.join(missing)}: pip install 'eddy-stairs[{extra}]'")

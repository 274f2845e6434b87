"""Names of a package that are loaded when they are first asked for, since their modules have kernels to compile."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from typing import Any


def later(package: str, homes: Mapping[str, str]) -> Callable[[str], Any]:
    """What to call `__getattr__` in a package: ``homes`` says in which module each of these names is."""

    def load(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(importlib.import_module(homes[name]), name)

    return load

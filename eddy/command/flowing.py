"""Help whose sentences are broken by the terminal alone, and not where lines of a docstring end."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, TypeVar

Command = TypeVar("Command", bound=Callable[..., Any])


def flowing(command: Command) -> Command:
    """The same function, each paragraph of whose docstring is one line, and each of its parameters' too."""
    lines: list[str] = []
    in_parameters = False
    for line in inspect.cleandoc(command.__doc__ or "").splitlines():
        in_parameters = in_parameters or line == "Parameters"
        before = lines[-1] if lines else ""
        continues = bool(line and before) and (not in_parameters or (line[0] == before[0] == " "))
        if continues:
            lines[-1] = f"{before} {line.strip()}"
        else:
            lines.append(line)
    command.__doc__ = "\n".join(lines)
    return command

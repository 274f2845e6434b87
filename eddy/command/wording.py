"""What the library says of options of Python, in words of the command line."""

from __future__ import annotations

import re
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

OPTIONS = (
    *("lateness", "late", "bad", "checkpoint", "every", "threads", "memory", "plan", "batch", "limit"),
    *(
        "latency",
        "idle",
        "speed",
        "metrics",
        "watch",
        "port",
        "report",
        "on",
        "follow",
        "final",
        "time",
        "schema",
    ),
)
"""Options that are called the same here and there."""
_NAMED = "|".join(OPTIONS)
_RULES = (
    (r"\bschema=(\{[^{}]*\}) of (\w+)", r"--schema \2='\1'"),
    (r"\bschema=(\{[^{}]*\})", lambda found: f"--schema NAME='{found[1].replace(chr(39), chr(34))}'"),
    (r"^schema: ", "--schema: "),
    (r"\bformat='(\w+)'", r"--read NAME=\1"),
    (r"\bformat=(?=\W|$)", "--read NAME=FORMAT"),
    (r"\bsink=\{([^{}]*)\}", lambda found: re.sub(r"'([^']*)': \.\.\.,?", r"--out \1=…", found[1])),
    (r"\b(watch|final|follow)=True\b", r"--\1"),
    (
        r"results of (\S+) and results of (\S+) cannot both go to (\S+): give another place",
        r"\1 and \2 have the same --out, \3",
    ),
    (r" \(or read engine\.table\(\)\)", ""),
    (r"give final=False", "leave --final out"),
    (r"another query needs an engine of its own", "give this query another folder of --checkpoint"),
    (r"\bsink=(?=\W|$)", "--out"),
    (rf"\b({_NAMED})='([^']*)'", r"--\1 \2"),
    (rf"\b({_NAMED})=(?=[\s,;.:)]|$)", r"--\1"),
)


def told(text: str) -> str:
    """A message of the library, as somebody understands it who has typed a command."""
    for pattern, words in _RULES:
        text = re.sub(pattern, words, text)
    return text


@contextmanager
def plain_warnings(quiet: bool = False) -> Iterator[None]:
    """Warnings are lines on standard error, each once; those of threads, too."""
    seen: set[str] = set()

    def show(message: Warning | str, *_: object, **__: object) -> None:
        text = told(str(message))
        if text not in seen:
            seen.add(text)
            print(f"eddy: {text}", file=sys.stderr)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore" if quiet else "always", UserWarning)
        warnings.showwarning = show
        yield

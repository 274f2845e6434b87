"""The page, made of its parts: one file that needs nothing else, with the run in it, or to be told of it as it goes."""

from __future__ import annotations

import base64
import hashlib
import os
from functools import lru_cache
from importlib import resources
from typing import Any

from eddy.checks import path_to
from eddy.page.plain import as_json
from eddy.sinks.disk import explained

PARTS = ("uPlot.min.css", "page.css", "uPlot.iife.min.js", "dagre.min.js", "page.js", "page.html")


@lru_cache
def _part(name: str) -> str:
    return (resources.files(__package__) / "parts" / name).read_text(encoding="utf-8")


def in_script(value: Any) -> str:
    """JSON that may stand within a script element, whatever is in it: nothing in it can end the element."""
    text = as_json(value, ascii=True)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


@lru_cache
def _styles() -> str:
    return _part("uPlot.min.css") + _part("page.css")


@lru_cache
def _scripts() -> str:
    drop = "\n//# sourceMappingURL=dagre.min.js.map"
    return "\n".join((_part("uPlot.iife.min.js"), _part("dagre.min.js").replace(drop, ""), _part("page.js")))


def _digest(text: str) -> str:
    return "'sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode() + "'"


@lru_cache
def policy(live: bool) -> str:
    """What the page may load: its own script and styles, by what is in them, and what its server tells."""
    connect = "'self'" if live else "'none'"
    return (
        f"default-src 'none'; script-src {_digest(_scripts())}; style-src {_digest(_styles())}; img-src data:; "
        f"connect-src {connect}; base-uri 'none'; form-action 'none'"
    )


def page(run: Any, live: bool) -> str:
    """The page of a run. ``live``: it asks its server for more."""
    return (
        _part("page.html")
        .replace("{{policy}}", policy(live))
        .replace("{{styles}}", _styles())
        .replace("{{scripts}}", _scripts())
        .replace("{{run}}", in_script({**run, "live": live}))
    )


def write(path: Any, run: Any) -> str:
    """Write the page of a run to a file; the path."""
    name = os.fspath(path_to("a report is a file, such as run.html", path))
    with explained(name):
        draft = f"{name}.tmp"
        with open(draft, "w", encoding="utf-8") as file:
            file.write(page(run, False))
        os.replace(draft, name)
    return name

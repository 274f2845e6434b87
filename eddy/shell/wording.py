"""What the library says of options of Python, in words of the shell."""

from __future__ import annotations

import re

from eddy.shell.options import OPTIONS

WITH = ("checkpoint", "every")
"""Options of INSERT INTO."""
OF_A_STREAM = ("time", "format", "follow")
_NAMED, _WITH = "|".join(OPTIONS), "|".join((*WITH, *OF_A_STREAM))
_RULES = (
    (r"\bgive more lateness=(?=\W|$)", "Say SET lateness = '5 min', or more"),
    (r"\bgive final=False", "RESET final"),
    (r"\b(?:give )?final=True", "SET final = true"),
    (r" \(or read engine\.table\(\)\)", ""),
    (rf"\b(?:give )?({_NAMED})='([^']*)'", r"SET \1 = '\2'"),
    (rf"\b(?:give )?({_NAMED})=(\d+)", r"SET \1 = \2"),
    (rf"\b({_NAMED})=(?=[\s,;.:)]|$)", r"\1"),
    (rf"\b({_WITH})='([^']*)'", r"WITH (\1 = '\2')"),
    (rf"\b({_WITH})=True\b", r"WITH (\1 = true)"),
    (rf"\b({_WITH})=(?=[\s,;.:)]|$)", r"\1"),
    (r'\bschema=\{"(\w+)": "[^"]*"\} of (\w+)', r"CREATE STREAM \2 (\1 TIMESTAMPTZ) FROM 'place'"),
    (r"\bno source for (\w+): add \1=PATH", r"there is no stream \1: CREATE STREAM \1 FROM 'place'"),
    (
        r"\bno source for (\w+), which (\w+) reads: give [^\n]*",
        r"there is no stream \1, which \2 reads: CREATE STREAM \1 FROM 'place'",
    ),
    (r"\bschema=\{[^{}]*\}", "CREATE STREAM name (column TYPE, ...) FROM 'place'"),
    (
        r"another query needs an engine of its own",
        "give this query another folder: WITH (checkpoint = 'folder')",
    ),
    (r"use --follow, or an empty folder", "declare streams WITH (follow = true), or give an empty folder"),
)


def told(text: str) -> str:
    """A message of the library, as somebody understands it who has written a statement."""
    for pattern, words in _RULES:
        text = re.sub(pattern, words, text, flags=re.IGNORECASE)
    return text

"""What sqlglot says where it cannot read a text, in words of ours."""

from __future__ import annotations

import difflib
import re

import sqlglot

_MISSING = re.compile(r"Required keyword: '\w+' missing for \w+")
_UNEXPECTED = re.compile("Invalid expression / Unexpected token")
_WORDS = "SELECT DISTINCT FROM JOIN NATURAL USING WHERE GROUP BY HAVING ORDER LIMIT BETWEEN EXCEPT WITH LIKE".split()


def misread(
    error: sqlglot.errors.SqlglotError, text: str, written: str
) -> tuple[str, tuple[int, int] | None]:
    """What sqlglot says, near what, and where that is."""
    details = getattr(error, "errors", None) or [{}]
    context = "".join(str(details[0].get(part) or "") for part in ("start_context", "highlight"))
    rest = str(details[0].get("end_context") or "")
    start = max(text.find(context + rest), 0)
    end = start + len(context)
    place = (end - len(str(details[0].get("highlight") or "")), end) if context else None
    end += len(re.split(r"\W", written[end:], maxsplit=1)[0]) if context else 0  # never half of a word
    near = written[start:end].strip()[-40:]
    said = re.sub(r"<class '[\w.]*?(\w+)'>", r"\1", str(details[0].get("description") or "")).rstrip(".")
    said = re.sub(r"<Token.*?SENTINEL.*?>", "the end", said)
    said = _MISSING.sub("something is missing here", said)
    if re.search(r"\bDIV\s*\([^()]*$", written[:end], re.IGNORECASE):
        said = "write x // y for a quotient of whole numbers"
    said = _UNEXPECTED.sub(_guess(written[:end]), said)
    return (f", near {near!r}" if near else "") + (f": {said}" if said else ""), place


def _guess(before: str) -> str:
    """What may be wrong where nothing fits: the last word but one may be a word of SQL, written wrongly."""
    words = re.findall(r"\w+", before)
    words = [*words[:1], *words[-2:]] if len(words) > 2 else words
    for word in [word for word in words if word.upper() not in _WORDS]:
        for close in difflib.get_close_matches(word.upper(), _WORDS, 1, 0.7):
            return f"did you mean {close} by {word}?"
    if "TOP" in map(str.upper, words[-2:-1]):
        return "TOP is not supported: results go on for ever; take what you need of engine.table()"
    return "this is not expected here"

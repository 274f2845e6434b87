"""What may come next in a statement that somebody is typing."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping

from sqlglot import Token, TokenType

from eddy.errors import EddyError
from eddy.running.columns import typed
from eddy.shell.options import OPTIONS
from eddy.shell.parsing import STATEMENTS
from eddy.shell.session import Session
from eddy.shell.splitting import open_quote, words_of
from eddy.sources.places import HIDDEN
from eddy.sources.source import ENDINGS

KEYWORDS = (
    "SELECT FROM WHERE AND OR NOT IN BETWEEN IS NULL LIKE AS ON USING GROUP BY HAVING ORDER LIMIT DISTINCT JOIN LEFT "
    "RIGHT FULL ASOF SEMI ANTI CROSS EXCEPT INTERVAL CASE WHEN THEN ELSE END CAST COUNT SUM AVG MIN MAX ROWS RANGE "
    "TUMBLING SLIDE STATIC UNBOUNDED MINUTES SECONDS HOURS EMIT CHANGES WITH STREAM STREAMS OPTIONS INTO OR REPLACE"
).split()
_AFTER: Mapping[str, str] = {"FROM": "streams", "JOIN": "streams", "EXCEPT": "streams", "DESCRIBE": "streams"}


def suggested(before: str, session: Session) -> tuple[int, list[str]]:
    """How many letters before the cursor a suggestion takes the place of, and the suggestions, in order."""
    quote = open_quote(before)
    if quote is not None:
        inside = before[quote + 1 :]
        return len(inside), list(paths(inside)) if before[quote] == "'" else []
    found = re.search(r"[\w.\\]*$", before)
    word = "" if found is None else found[0]
    tokens = _statement(words_of(before[: len(before) - len(word)]))
    stream, dot, part = word.rpartition(".")
    if dot:
        return len(part), _starting(part, _columns(session, tokens, stream))
    return len(word), _starting(word, _words(session, tokens))


def paths(start: str) -> Iterable[str]:
    """Files and folders whose names go on like this, such as a source can read."""
    folder, name = os.path.split(start)
    try:
        there = sorted(os.scandir(os.path.expanduser(folder) or "."), key=lambda entry: entry.name)
    except OSError:
        return
    for entry in there:
        hidden = entry.name.startswith(HIDDEN) and not name
        if not entry.name.startswith(name) or hidden:
            continue
        if entry.is_dir():
            yield os.path.join(folder, entry.name) + "/"
        elif any(ending in entry.name.lower() for ending in ENDINGS):
            yield os.path.join(folder, entry.name)


def _statement(tokens: list[Token]) -> list[Token]:
    """The tokens behind the last semicolon."""
    ends = [place for place, token in enumerate(tokens) if token.token_type == TokenType.SEMICOLON]
    return tokens[ends[-1] + 1 :] if ends else tokens


def _words(session: Session, tokens: list[Token]) -> list[str]:
    """What may stand behind these tokens."""
    words = [token.text.upper() for token in tokens]
    last = words[-1] if words else ""
    if not words:
        return [*STATEMENTS, "SELECT"]
    if last in ("SET", "RESET"):
        return list(OPTIONS)
    if words == ["SHOW"]:
        return ["STREAMS", "OPTIONS"]
    if words in (["CREATE"], ["DROP"]):
        return ["STREAM"]
    if _AFTER.get(last) == "streams" or words == ["DROP", "STREAM"]:
        return list(session.streams)
    if words in (["EXPLAIN"], ["CHECK"]):
        return ["SELECT"]
    return [*_columns(session, tokens), *session.streams, *KEYWORDS]


def _columns(session: Session, tokens: list[Token], stream: str | None = None) -> list[str]:
    """The columns of a stream, by its name or its alias; without one those of all that the statement names."""
    named = _named(session, tokens)
    if stream is not None:
        named = {stream: named.get(stream, stream)}
    wanted = dict.fromkeys(name for name in named.values() if name in session.streams)
    found: dict[str, None] = {}
    for name in wanted or (session.streams if stream is None else ()):
        try:
            found |= dict.fromkeys(typed(session.streams[name].first)[0])
        except EddyError:
            continue
    return list(found)


def _named(session: Session, tokens: list[Token]) -> dict[str, str]:
    """The streams that a statement names, by what it calls them."""
    found: dict[str, str] = {}
    for place, token in enumerate(tokens):
        if token.text not in session.streams:
            continue
        found[token.text] = token.text
        rest = tokens[place + 1 :]
        if rest and rest[0].token_type == TokenType.L_BRACKET:
            ends = [at for at, other in enumerate(rest) if other.token_type == TokenType.R_BRACKET]
            rest = rest[ends[0] + 1 :] if ends else []
        if rest and rest[0].token_type == TokenType.ALIAS:
            rest = rest[1:]
        if rest and rest[0].token_type in (TokenType.VAR, TokenType.IDENTIFIER):
            found[rest[0].text] = token.text
    return found


def _starting(word: str, known: Iterable[str]) -> list[str]:
    """Those that begin so, whatever the case; keywords in the case of what is there."""
    small = word.islower()
    found = [text for text in known if text.lower().startswith(word.lower())]
    return list(dict.fromkeys(text.lower() if small and text.isupper() else text for text in found))

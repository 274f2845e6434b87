"""A text in statements, each of which ends with a semicolon. Quotes and comments are what SQL has."""

from __future__ import annotations

import re
from typing import Any, ClassVar

from attrs import frozen
from sqlglot import Token, TokenType
from sqlglot.errors import TokenError
from sqlglot.tokens import Tokenizer

from eddy.errors import QueryError
from eddy.query.place import rendered

ALONE = ("exit", "quit", "help", r"\q", r"\h", r"\?")
"""What needs no semicolon in a terminal."""

_PIECE = re.compile(r"""'(?:[^']|'')*'(?!')|"(?:[^"]|"")*"(?!")|--[^\n]*|/\*.*?(?:\*/|\Z)|['"]""", re.DOTALL)
"""What may have quotes in it, and a quote that is not closed."""


class Words(Tokenizer):
    """sqlglot's; words of which it takes the rest as it is are words like others."""

    COMMANDS: ClassVar[Any] = set()


@frozen
class Part:
    """One statement: where it stands in the whole text, and its tokens, without the semicolon."""

    whole: str
    tokens: list[Token]

    @property
    def start(self) -> int:
        """Where its first token begins."""
        return int(self.tokens[0].start)

    @property
    def end(self) -> int:
        """Behind its last token."""
        return int(self.tokens[-1].end) + 1

    def text_from(self, token: int) -> str:
        """The rest of it from one of its tokens on, on the line and in the column where it stands in the whole text."""
        start = int(self.tokens[token].start)
        lines = self.whole.count("\n", 0, start)
        column = start - (self.whole.rfind("\n", 0, start) + 1)
        return "\n" * lines + " " * column + self.whole[start : self.end]


def words_of(text: str) -> list[Token]:
    """The tokens; QueryError if a quote is not closed."""
    try:
        return list(Words().tokenize(text))
    except TokenError as error:
        start = open_quote(text)
        place = (text, len(text) - 1 if start is None else start, len(text))
        told = "this cannot be read" if start is None else f"the quote {text[start]} is not closed"
        raise wrong(told, place) from error


def open_quote(text: str) -> int | None:
    """Where the quote stands that is not closed; None if all are."""
    return next((found.start() for found in _PIECE.finditer(text) if found[0] in ("'", '"')), None)


def split(text: str) -> list[Part]:
    """The statements; QueryError if a quote is not closed. A last one may lack its semicolon."""
    parts, tokens = [], list[Token]()
    for token in words_of(text):
        if token.token_type != TokenType.SEMICOLON:
            tokens.append(token)
        elif tokens:
            parts.append(Part(text, tokens))
            tokens = []
    return [*parts, Part(text, tokens)] if tokens else parts


def is_complete(text: str) -> bool:
    """Whether what somebody has typed can be run: nothing, a word that stands alone, or statements to their ends."""
    if not text.strip() or text.strip().rstrip(";").strip().lower() in ALONE:
        return True
    try:
        tokens = words_of(text)
    except QueryError:
        return False
    return not tokens or tokens[-1].token_type == TokenType.SEMICOLON


def wrong(told: str, place: tuple[str, int, int]) -> QueryError:
    """An error about a place."""
    error = QueryError(f"{told}\n{rendered(place)}")
    error.place = place
    return error

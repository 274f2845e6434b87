"""A statement of the shell from its tokens."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from attrs import define
from sqlglot import Token, TokenType, exp
from sqlglot.errors import SqlglotError

from eddy.errors import QueryError
from eddy.query.casts import named
from eddy.query.names import nearest
from eddy.shell.splitting import Part, wrong
from eddy.shell.statements import (
    Check,
    Create,
    Describe,
    Drop,
    Explain,
    Help,
    Insert,
    Quit,
    Select,
    Set,
    Show,
    Statement,
)
from eddy.values.types import ColumnType, column_type

SOURCE_OPTIONS = ("time", "format", "follow")
SINK_OPTIONS = ("format", "checkpoint", "every")
SHOWN = ("STREAMS", "OPTIONS")
QUERY = ("SELECT", "WITH")
ZONED = "timestamp[us, UTC]"
"""What TIMESTAMPTZ is."""


def parsed(part: Part) -> Statement:
    """What a statement says; QueryError, with the place, if it says nothing."""
    cursor = Cursor(part)
    first = cursor.peek()
    if first in QUERY:
        return Select(part.text_from(0))
    if first == "\\":
        first = part.whole[part.start : part.end]
        known: dict[str, Statement] = {r"\q": Quit(), r"\h": Help(), r"\?": Help()}
        return known[first] if first in known else cursor.refuse(f"there is no {first}: use \\q or \\h")
    how = STATEMENTS.get(first)
    if how is None:
        cursor.refuse(f"there is no statement {first}: {nearest(first, [*STATEMENTS, 'SELECT'])}")
    cursor.step()
    found = how(cursor)
    cursor.end()
    return found


@define
class Cursor:
    """Goes through the tokens of a statement."""

    part: Part
    at: int = 0

    @property
    def token(self) -> Token | None:
        """The next one."""
        return self.part.tokens[self.at] if self.at < len(self.part.tokens) else None

    def peek(self) -> str:
        """The next word in capitals; nothing where there is none, or a quoted one."""
        token = self.token
        quoted = token is None or token.token_type in (TokenType.STRING, TokenType.IDENTIFIER)
        return "" if token is None or quoted else token.text.upper()

    def step(self) -> None:
        """Go on."""
        self.at += 1

    def accept(self, word: str) -> bool:
        """Go over a word if it is there."""
        found = self.peek() == word
        self.at += found
        return found

    def expect(self, word: str, example: str) -> None:
        """Go over a word that must be there."""
        if not self.accept(word):
            self.refuse(f"{word} is missing here: write {example}")

    def name(self, example: str) -> str:
        """A name, quoted or not."""
        token = self.token
        if token is None or not (
            token.token_type == TokenType.IDENTIFIER or token.text.replace("_", "a").isalnum()
        ):
            self.refuse(f"a name is missing here: write {example}")
        if token.token_type == TokenType.STRING:
            self.refuse(f"a name is not written in single quotes: write {example}")
        self.step()
        return str(token.text)

    def text(self, example: str) -> str:
        """A text in single quotes."""
        token = self.token
        if token is None or token.token_type != TokenType.STRING:
            self.refuse(f"a place in single quotes is missing here: write {example}")
        self.step()
        return str(token.text)

    def value(self, example: str) -> Any:
        """A text, a number, TRUE or FALSE, or a bare word."""
        minus = self.accept("-")
        token = self.token
        if token is None or token.token_type in (TokenType.COMMA, TokenType.R_PAREN, TokenType.EQ):
            self.refuse(f"a value is missing here: write {example}")
        self.step()
        if token.token_type == TokenType.NUMBER:
            number = float(token.text) if "." in token.text or "e" in token.text.lower() else int(token.text)
            return -number if minus else number
        if token.token_type in (TokenType.TRUE, TokenType.FALSE):
            return token.token_type == TokenType.TRUE
        return str(token.text)

    def options(self, known: tuple[str, ...]) -> dict[str, Any]:
        """WITH (name = value, ...), if it is there."""
        found: dict[str, Any] = {}
        if not self.accept("WITH"):
            return found
        example = f"WITH ({known[0]} = '...')"
        self.expect("(", example)
        while True:
            before = self.at
            name = self.name(example).lower()
            if name not in known or name in found:
                self.at = before
                twice = f"{name} is there twice" if name in found else f"there is no option {name}"
                self.refuse(f"{twice}: {nearest(name, known)}")
            self.expect("=", example)
            found[name] = self.value(example)
            if not self.accept(","):
                self.expect(")", example)
                return found

    def query(self, what: str) -> str:
        """The rest, which is a query."""
        if self.peek() not in QUERY:
            self.refuse(f"a SELECT is missing here: write {what} SELECT ...")
        found = self.part.text_from(self.at)
        self.at = len(self.part.tokens)
        return found

    def end(self) -> None:
        """QueryError unless all was read."""
        if self.token is not None:
            self.refuse("the statement was over before this: end it with a semicolon")

    def refuse(self, told: str) -> NoReturn:
        """An error about the next token, or about the end."""
        part = self.part
        if self.token is None:
            raise wrong(told, (part.whole, part.end, part.end + 1))
        raise wrong(told, (part.whole, int(self.token.start), int(self.token.end) + 1))


def _create(cursor: Cursor) -> Statement:
    example = "CREATE STREAM clicks FROM 'clicks/*.parquet'"
    replace = cursor.accept("OR")
    if replace:
        cursor.expect("REPLACE", "CREATE OR REPLACE STREAM")
    cursor.expect("STREAM", example)
    name = cursor.name(example)
    columns = _columns(cursor) if cursor.peek() == "(" else None
    cursor.expect("FROM", example)
    path = cursor.text(example)
    return Create(name, path, columns, cursor.options(SOURCE_OPTIONS), replace)


def _columns(cursor: Cursor) -> dict[str, ColumnType]:
    """(name type, ...)"""
    example = "(ts TIMESTAMP, user BIGINT)"
    cursor.expect("(", example)
    found: dict[str, ColumnType] = {}
    while True:
        name = cursor.name(example)
        first, depth = cursor.at, 0
        while cursor.token is not None and (depth or cursor.peek() not in (",", ")")):
            depth += (cursor.peek() in ("(", "[")) - (cursor.peek() in (")", "]"))
            cursor.step()
        found[name] = _type(cursor, first)
        if not cursor.accept(","):
            cursor.expect(")", example)
            return found


def _type(cursor: Cursor, first: int) -> ColumnType:
    """A type as SQL or as the library writes it, from a token on up to the cursor."""
    tokens, whole = cursor.part.tokens[first : cursor.at], cursor.part.whole
    if not tokens:
        cursor.refuse("a type is missing here: write BIGINT, DOUBLE, VARCHAR, TIMESTAMP, ...")
    place = (whole, int(tokens[0].start), int(tokens[-1].end) + 1)
    text = whole[place[1] : place[2]]
    if len(tokens) == 1 and tokens[0].token_type in (TokenType.STRING, TokenType.IDENTIFIER):
        text = tokens[0].text
    try:
        built = exp.DataType.build(text)
        return column_type(ZONED) if built.is_type("timestamptz") and not built.expressions else named(built)
    except (QueryError, SqlglotError, ValueError):
        pass
    try:
        return column_type(text)
    except QueryError as error:
        told = f"there is no type {text}: write BOOLEAN, INT, BIGINT, DOUBLE, DECIMAL(18, 2), VARCHAR, DATE, TIME, "
        raise wrong(
            f"{told}TIMESTAMP, TIMESTAMPTZ, UUID, or one such as timestamp[ns, UTC]", place
        ) from error


def _drop(cursor: Cursor) -> Statement:
    cursor.expect("STREAM", "DROP STREAM clicks")
    return Drop(cursor.name("DROP STREAM clicks"))


def _show(cursor: Cursor) -> Statement:
    what = cursor.peek()
    if what not in SHOWN:
        cursor.refuse("write SHOW STREAMS or SHOW OPTIONS")
    cursor.step()
    return Show(what)


def _describe(cursor: Cursor) -> Statement:
    return Describe(cursor.name("DESCRIBE clicks"))


def _set(cursor: Cursor) -> Statement:
    if cursor.token is None:
        return Show("OPTIONS")
    example = "SET lateness = '30s'"
    name = cursor.name(example).lower()
    if not cursor.accept("TO"):
        cursor.expect("=", example)
    value = None if cursor.accept("DEFAULT") else cursor.value(example)
    return Set(name, value)


def _reset(cursor: Cursor) -> Statement:
    return Set(cursor.name("RESET lateness").lower(), None)


def _insert(cursor: Cursor) -> Statement:
    example = "INSERT INTO 'out.parquet' SELECT ..."
    cursor.expect("INTO", example)
    path = cursor.text(example)
    before = cursor.at
    options = {}
    if cursor.accept("WITH"):  # of options, or of a query
        options_follow = cursor.peek() == "("
        cursor.at = before
        options = cursor.options(SINK_OPTIONS) if options_follow else {}
    return Insert(path, options, cursor.query("INSERT INTO 'out.parquet'"))


STATEMENTS: dict[str, Callable[[Cursor], Statement]] = {
    "CREATE": _create,
    "DROP": _drop,
    "SHOW": _show,
    **dict.fromkeys(("DESCRIBE", "DESC"), _describe),
    "EXPLAIN": lambda cursor: Explain(cursor.query("EXPLAIN")),
    "CHECK": lambda cursor: Check(cursor.query("CHECK")),
    "INSERT": _insert,
    "SET": _set,
    "RESET": _reset,
    "HELP": lambda cursor: Help(),
    **dict.fromkeys(("QUIT", "EXIT"), lambda cursor: Quit()),
}
"""How each begins."""

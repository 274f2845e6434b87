"""Functions of strings, of Arrow's. Patterns are constants: Arrow compiles one for a whole column."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from eddy.values.compute import Datum
from eddy.values.patterns import each_once, extracted
from eddy.values.types import ColumnType

Arguments = Sequence[Datum]


def joined(arguments: Arguments, result: ColumnType) -> Datum:
    """`||`: NULL where a part is."""
    return pc.binary_join_element_wise(*arguments, pa.scalar(""), null_handling="emit_null")


def concat(arguments: Arguments, result: ColumnType) -> Datum:
    """CONCAT: a part that is NULL counts for nothing."""
    whole = pc.binary_join_element_wise(
        *arguments, pa.scalar(""), null_handling="replace", null_replacement=""
    )
    return whole


def upper(arguments: Arguments, result: ColumnType) -> Datum:
    """UPPER."""
    return pc.utf8_upper(arguments[0])


def lower(arguments: Arguments, result: ColumnType) -> Datum:
    """LOWER."""
    return pc.utf8_lower(arguments[0])


def repeated(arguments: Arguments, result: ColumnType) -> Datum:
    """REPEAT: the text so many times."""
    return pc.binary_repeat(*arguments)


def reverse(arguments: Arguments, result: ColumnType) -> Datum:
    """REVERSE, by code points."""
    return pc.utf8_reverse(arguments[0])


def _stripped(function: Datum, arguments: Arguments) -> Datum:
    return function(arguments[0], characters=arguments[1].as_py() if len(arguments) > 1 else " ")


def trim(arguments: Arguments, result: ColumnType) -> Datum:
    """TRIM: without blanks, or these characters, at both ends."""
    return _stripped(pc.utf8_trim, arguments)


def ltrim(arguments: Arguments, result: ColumnType) -> Datum:
    """LTRIM: at the beginning."""
    return _stripped(pc.utf8_ltrim, arguments)


def rtrim(arguments: Arguments, result: ColumnType) -> Datum:
    """RTRIM: at the end."""
    return _stripped(pc.utf8_rtrim, arguments)


def length(arguments: Arguments, result: ColumnType) -> Datum:
    """LENGTH in code points."""
    return pc.utf8_length(arguments[0])


def substring(arguments: Arguments, result: ColumnType) -> Datum:
    """SUBSTRING from the place `start`, counted from 1, of at most `length` code points."""
    start = arguments[1].as_py() - 1
    stop = None if len(arguments) < 3 else start + arguments[2].as_py()
    return pc.utf8_slice_codeunits(arguments[0], start=start, stop=stop)


def left(arguments: Arguments, result: ColumnType) -> Datum:
    """LEFT: the first so many code points."""
    return pc.utf8_slice_codeunits(arguments[0], start=0, stop=arguments[1].as_py())


def right(arguments: Arguments, result: ColumnType) -> Datum:
    """RIGHT: the last so many code points."""
    count = arguments[1].as_py()
    return pc.utf8_slice_codeunits(arguments[0], start=-count if count else 2**31 - 1)


def replace(arguments: Arguments, result: ColumnType) -> Datum:
    """REPLACE each occurrence of a text by another; the empty text does not occur."""
    text, old, new = arguments
    if not old.as_py():
        return text
    return pc.replace_substring(text, pattern=old.as_py(), replacement=new.as_py())


def position(arguments: Arguments, result: ColumnType) -> Datum:
    """STRPOS: where a text first occurs, in code points from 1; 0 where it does not."""
    text, part = arguments[0], arguments[1].as_py()
    if not part:
        return pc.if_else(pc.is_valid(text), 1, pa.scalar(None, pa.int64()))
    before = pc.utf8_length(pc.list_element(pc.split_pattern(text, pattern=part, max_splits=1), 0))
    found = pc.match_substring(text, pattern=part)
    return pc.if_else(found, pc.add(before, 1), 0)


def arrow_pattern(pattern: str, escape: str | None) -> str:
    """A pattern of LIKE as Arrow writes it, for which a backslash escapes; in SQL nothing does without ESCAPE."""
    out, places = [], iter(pattern)
    for letter in places:
        if letter == escape:
            following = next(places, None)
            if following is None:
                raise ValueError(f"the pattern {pattern!r} ends with its escape character")
            out.append("\\" + following if following in "%_\\" else following)
        else:
            out.append("\\\\" if letter == "\\" else letter)
    return "".join(out)


def _like(arguments: Arguments, ignore_case: bool) -> Datum:
    escape = arguments[2].as_py() if len(arguments) > 2 else None
    pattern = arrow_pattern(arguments[1].as_py(), escape)
    return pc.match_like(arguments[0], pattern=pattern, ignore_case=ignore_case)


def like(arguments: Arguments, result: ColumnType) -> Datum:
    """LIKE: % stands for any text, _ for one character."""
    return _like(arguments, False)


def ilike(arguments: Arguments, result: ColumnType) -> Datum:
    """ILIKE: LIKE without regard to capitals."""
    return _like(arguments, True)


def starts_with(arguments: Arguments, result: ColumnType) -> Datum:
    """STARTS_WITH."""
    return pc.starts_with(arguments[0], pattern=arguments[1].as_py())


def ends_with(arguments: Arguments, result: ColumnType) -> Datum:
    """ENDS_WITH."""
    return pc.ends_with(arguments[0], pattern=arguments[1].as_py())


def contains(arguments: Arguments, result: ColumnType) -> Datum:
    """CONTAINS."""
    return pc.match_substring(arguments[0], pattern=arguments[1].as_py())


def regexp_like(arguments: Arguments, result: ColumnType) -> Datum:
    """REGEXP_LIKE: whether a regular expression (RE2) matches somewhere."""
    pattern = arguments[1].as_py()
    return each_once(arguments[0], lambda text: pc.match_substring_regex(text, pattern=pattern))


def regexp_replace(arguments: Arguments, result: ColumnType) -> Datum:
    r"""REGEXP_REPLACE of the first match, or of all with the option 'g'; \1 stands for a group."""
    options = arguments[3].as_py() if len(arguments) > 3 else ""
    replacing = {
        "pattern": arguments[1].as_py(),
        "replacement": arguments[2].as_py(),
        "max_replacements": -1 if "g" in options else 1,
    }
    return each_once(arguments[0], lambda text: pc.replace_substring_regex(text, **replacing))


def regexp_extract(arguments: Arguments, result: ColumnType) -> Datum:
    """REGEXP_EXTRACT: the first match, or a group of it; '' where there is none."""
    group = arguments[2].as_py() if len(arguments) > 2 else 0
    return extracted(arguments[0], arguments[1].as_py(), group)

"""Regular expressions, as RE2 reads them: the groups that they have, and what one of these matches in each string."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import pyarrow as pa
import pyarrow.compute as pc

from eddy.values.compute import Datum

GROUP = "group"
SAMPLE, REPEATED = 256, 4
"""Of so many strings at the beginning no more than one in `REPEATED` differ: then each is looked at once."""


@lru_cache(maxsize=256)
def group_count(pattern: str) -> int:
    """How many groups a regular expression has, 9 at most; ValueError if it is none that RE2 reads."""
    probe = pa.array([""])
    for count in range(10):
        try:
            pc.replace_substring_regex(probe, pattern=pattern, replacement=f"\\{count}", max_replacements=1)
        except pa.ArrowInvalid as error:
            if count == 0:
                raise ValueError(str(error)) from None
            return count - 1
    return 9


def extracted(text: Datum, pattern: str, group: int) -> Datum:
    """What a group matches in the first match, the whole of it for group 0; '' where there is no match."""
    alone, count = with_one_group(pattern, group)
    if min(count, 9) != group_count(pattern):
        return _by_replacing(
            text, pattern, group
        )  # it is written in a way that `with_one_group` does not know

    def extract(of: Datum) -> Datum:
        found = pc.struct_field(pc.extract_regex(of, pattern=alone), [0])
        return pc.if_else(pc.is_null(of), None, pc.fill_null(found, ""))

    return each_once(text, extract)


def each_once(text: Datum, function: Callable[[Datum], Datum]) -> Datum:
    """A costly function of strings. Where they repeat it sees each of them once."""
    if not isinstance(text, pa.Array):
        return function(text)
    sample = text.slice(0, SAMPLE)
    if len(sample) < SAMPLE or pc.count_distinct(sample).as_py() * REPEATED > SAMPLE:
        return function(text)
    coded = text.dictionary_encode()
    return function(coded.dictionary).take(coded.indices)


def with_one_group(pattern: str, group: int) -> tuple[str, int]:
    """A pattern that matches the same and has one group, named `GROUP`, in the place of ``group``; and how many groups
    the given one has. RE2 takes a multiple of the time where several groups are asked for."""
    out, count, at = [], 0, 0
    while at < len(pattern):
        end, capturing = _part(pattern, at)
        if capturing:
            count += 1
            out.append(f"(?P<{GROUP}>" if count == group else "(?:")
        else:
            out.append(pattern[at:end])
        at = end
    body = "".join(out)
    return (body if group else f"(?P<{GROUP}>{body})"), count


def _part(pattern: str, at: int) -> tuple[int, bool]:
    """Where the part of a pattern ends that begins here, and whether it begins a group that captures."""
    if pattern.startswith("\\Q", at):
        end = pattern.find("\\E", at)
        return (len(pattern) if end < 0 else end + 2), False
    if pattern[at] == "\\":
        return at + 2, False
    if pattern[at] == "[":
        return _class_end(pattern, at), False
    if pattern[at] != "(":
        return at + 1, False
    for named in ("(?P<", "(?<"):
        if pattern.startswith(named, at):
            return pattern.find(">", at) + 1 or len(pattern), True
    return at + 1, not pattern.startswith("(?", at)


def _class_end(pattern: str, at: int) -> int:
    """Where a class of characters ends: [^]a[:alpha:]\\]] has brackets that do not end it."""
    at += 2 if pattern.startswith("[^", at) else 1
    if pattern.startswith("]", at):
        at += 1
    while at < len(pattern) and pattern[at] != "]":
        if pattern.startswith("[:", at) and ":]" in pattern[at + 2 :]:
            at = pattern.index(":]", at + 2) + 2
        else:
            at += 2 if pattern[at] == "\\" else 1
    return at + 1


def _by_replacing(text: Datum, pattern: str, group: int) -> Datum:
    """The same, slower: all before the first match is taken as short as can be, and all behind it as it is."""
    found = pc.replace_substring_regex(
        text,
        pattern=f"\\A(?s:.*?)({pattern})(?s:.*)\\z",
        replacement=f"\\{group + 1}",
        max_replacements=1,
    )
    return pc.if_else(pc.match_substring_regex(text, pattern=pattern), found, "")

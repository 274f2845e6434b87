"""Groups of regular expressions: what DuckDB, which has RE2 as well, takes out of strings."""

from __future__ import annotations

import random

import duckdb
import pyarrow as pa
import pytest

from eddy.values.patterns import REPEATED, SAMPLE, extracted, group_count, with_one_group

PIECES = [
    "a",
    "b+?",
    ".",
    "(a)",
    "(b*)",
    "(?:a|b)",
    "(?P<x>b)",
    "[]ab]+",
    "[^](]",
    r"\(",
    r"[\]()]",
    "|",
    "^",
    "$",
]
PIECES += ["(?i)", "[[:alpha:](]", r"\Q(a\E", "(a(b)?)", "(", ")", "x?", "[a", r"\d"]
TEXTS = ["", "ab", "aab]b(a", "(a)", "BA\nab", "xbb1", None, "é(a", "ba|^$", "1x]("]


def test_a_group_is_what_duckdb_takes_out_of_each_string():
    """Random patterns with groups of all kinds, brackets in classes, and quoted ones; bad ones are told of."""
    chance, good = random.Random(4), 0
    connection = duckdb.connect()
    connection.register(
        "texts", pa.table({"number": range(len(TEXTS)), "text": pa.array(TEXTS, pa.string())})
    )
    while good < 300:
        pattern = "".join(chance.choices(PIECES, k=chance.randint(1, 6)))
        try:
            count = group_count(pattern)
        except ValueError:
            continue
        good += 1
        assert with_one_group(pattern, 0)[1] == count, pattern
        for group in range(min(count, 8) + 1):
            asked = connection.execute(
                "SELECT regexp_extract(text, $p, $g) FROM texts ORDER BY number", {"p": pattern, "g": group}
            ).fetchall()
            found = extracted(pa.array(TEXTS, pa.string()), pattern, group).to_pylist()
            assert found == [row[0] for row in asked], (pattern, group)


@pytest.mark.parametrize("different", [SAMPLE // REPEATED, SAMPLE])
def test_strings_that_repeat_give_what_each_gives(different):
    """With NULLs among them, and in the middle of a longer array."""
    texts = [None if i % 7 == 3 else f"/{i % different}/x" for i in range(3 * SAMPLE)]
    found = extracted(pa.array(texts).slice(5), "^/([^/]*)/", 1).to_pylist()
    assert found == [None if text is None else text.split("/")[1] for text in texts[5:]]

"""Options of engines, queries and policies are checked by one family of rules."""

import datetime
import math
from pathlib import Path

import attrs
import numpy as np
import pytest

import eddy
from eddy.checks import bytes_of, checked, choice, flag, path_to, seed_number, whole
from eddy.errors import EddyError, QueryError, StateError
from policies.options import Rule, instance, number, one_of, optional, truth
from policies.options import whole as whole_number

COUNT, PART, LIMITED = whole_number(1), number(above=0, most=1), number(least=0, below=math.inf)


@pytest.mark.parametrize(
    "rule, good, bad",
    [
        (COUNT, [1, np.int8(5), 10**400], [0, -1, 1.0, "1", None, True, np.True_, [1]]),
        (whole_number(), [0, -3, np.uint64(2**64 - 1)], [0.5, "0", False]),
        (whole_number(0, below=4), [0, 3], [4, -1]),
        (PART, [1, 0.5, np.float32(0.25)], [0, 1.5, math.nan, "0.5", True, None, 1j]),
        (LIMITED, [0, 1e300], [math.inf, math.nan, -1e-9, 10**400]),
        (number(above=0), [math.inf, 1], [math.nan, 0]),
        (one_of(("a", "b")), ["a"], ["c", "", None, ["a"], 1]),
        (truth(), [True, False], [0, 1, None, "yes", np.True_]),
        (instance(datetime.date), [datetime.date(2024, 1, 1)], [None, "2024-01-01"]),
        (optional(COUNT), [None, 1], [0, "x", False]),
    ],
)
def test_a_rule_takes_what_it_says_and_nothing_else(rule, good, bad):
    assert [value for value in good if not rule.fits(value)] == []
    assert [value for value in bad if rule.fits(value)] == []


def test_a_value_that_fits_becomes_a_plain_one():
    assert type(COUNT.plain(np.int8(5))) is int
    assert type(PART.plain(np.float32(0.5))) is float
    assert optional(COUNT).plain(None) is None and optional(COUNT).plain(np.int64(2)) == 2


@pytest.mark.parametrize(
    "rule, says",
    [
        (COUNT, "a whole number of at least 1"),
        (whole_number(), "a whole number"),
        (whole_number(1, takes="a number of cells"), "a number of cells"),
        (PART, "a number above 0 and at most 1"),
        (LIMITED, "a number of at least 0"),
        (number(), "a number"),
        (one_of(("a", "b", "c")), "'a', 'b' or 'c'"),
        (optional(truth()), "True or False, or None"),
        (instance(attrs.Attribute), "an Attribute"),
        (instance(datetime.date), "a date"),
    ],
)
def test_a_rule_says_in_words_what_it_takes(rule, says):
    assert rule.takes == says


def test_the_same_rule_checks_a_policy_and_an_option_of_the_engine():
    @attrs.frozen
    class Own:
        every: int = attrs.field(default=1, validator=COUNT)

    with pytest.raises(ValueError, match=r"^Own\(every=\.\.\.\) is a whole number of at least 1, not 0$"):
        Own(every=0)
    with pytest.raises(EddyError, match=r"^every must be a whole number of at least 1, not 0$"):
        checked("every", 0, COUNT)


PATH = "it is a file: give its path as a text or a pathlib.Path, not"


@pytest.mark.parametrize(
    "call, error, says",
    [
        (lambda: whole("n", 1.5), EddyError, "n must be a whole number of at least 1, not 1.5"),
        (lambda: seed_number("x"), EddyError, "seed must be a whole number, not 'x'"),
        (lambda: flag("on", 1, QueryError), QueryError, "on is True or False, not 1"),
        (lambda: choice("way", "up", ("in", "out")), EddyError, "way must be 'in' or 'out', not 'up'"),
        (lambda: path_to("it is a file", 3), EddyError, f"{PATH} 3"),
        (lambda: path_to("it is a file", b"x", StateError), StateError, f"{PATH} b'x'"),
        (lambda: path_to("it is a file", ""), EddyError, f"{PATH} ''"),
        (
            lambda: bytes_of("5 parsecs"),
            EddyError,
            "memory is a number of bytes, or a text such as '512 MB', not '5 parsecs'",
        ),
        (
            lambda: eddy.Query({"A": {"x": int}, "B": {"x": int}}, cross="no"),
            QueryError,
            "cross is True or False, not 'no'",
        ),
        (lambda: eddy.Rows(True), QueryError, "Rows needs a whole number of rows, 1 or more, not True"),
        (
            lambda: eddy.Range(-1),
            QueryError,
            "Range needs a whole number of 0 or more in the unit of the time column, "
            "or a duration such as '5 minutes', not -1",
        ),
    ],
)
def test_an_error_names_the_option_what_it_takes_and_what_was_given(call, error, says):
    with pytest.raises(error) as raised:
        call()
    assert type(raised.value) is error and str(raised.value) == says


def test_what_is_given_is_shown_in_one_line():
    with pytest.raises(EddyError) as raised:
        whole("n", "x" * 10_000)
    assert len(str(raised.value)) < 250


def test_paths_are_texts_or_paths():
    assert path_to("it", "a/b") == path_to("it", Path("a/b")) == "a/b"


def test_a_rule_of_ones_own():
    """Three parts: the words, the test, and how a value is read."""
    even = Rule("an even number", lambda value: COUNT.fits(value) and value % 2 == 0, int)
    with pytest.raises(EddyError, match="n must be an even number, not 3"):
        checked("n", 3, even)

"""Plans: read and printed in the papers' notation, and refused with help."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import eddy
from eddy.plan.plan import Orderings, connected_order, joins, left_deep, stems
from tests.plans import NAMES, anything, chain, mixed, orderings, read, trees

MANY = ["orders", "A", "B2", "stems", "größe", "x.y", "0", "É", "clicks-eu", "Ω", "k,k", "'"]


@given(st.data(), st.integers(2, len(MANY)))
def test_what_is_printed_reads_back_as_the_same_plan(data, count):
    """Any tree and any orderings, over any names, survive printing and reading, however blanks are put."""
    names = data.draw(st.permutations(MANY))[:count]
    made = data.draw(trees(names) | orderings(names) | mixed(names))
    assert read(str(made), names) == made
    assert str(read(str(made), names)) == str(made)
    spread = str(made)
    for sign in "()|" + (":" if isinstance(made, Orderings) else ""):
        spread = spread.replace(sign, f"  {sign}\t")
    assert read(f"\n {spread} ", names) == made


@given(st.data(), st.integers(2, 6))
def test_the_printed_form_tells_plans_apart(data, count):
    """Two plans print alike only if they are the same plan."""
    any_plan = trees(NAMES[:count]) | orderings(NAMES[:count]) | mixed(NAMES[:count])
    one, other = (data.draw(any_plan) for _ in range(2))
    assert (str(one) == str(other)) == (one == other)


@pytest.mark.parametrize(
    "text, printed",
    [
        ("((A B) C) D", "((A B) C) D"),
        ("(((A B) C) D)", "((A B) C) D"),
        ("(A B)(C D)", "(A B) (C D)"),
        ("A(B(C D))", "A (B (C D))"),
        ("((A) (B)) ((C) D)", "(A B) (C D)"),
        ("D: A B C|C: D A B|B: A C D|A: B C D", "A: B C D | B: A C D | C: D A B | D: A B C"),
        (
            "D 7: A B C|C: D A B|A 2: B C D|B: A C D|A 3: D B C|A 1: B C D",
            "A 3: B C D | A 3: D B C | B: A C D | C: D A B | D: A B C",
        ),
        ("D:(C  B )(A)|C: B D A|B: C A D|A: (C B)D", "A: (B C) D | B: C A D | C: B D A | D: (B C) A"),
    ],
)
def test_plans_print_in_one_form(text, printed):
    """Superfluous parentheses go, and orderings come in the order of declaration."""
    assert str(read(text)) == printed


def test_a_tree_of_leaves_knows_its_streams():
    """`left_deep` builds the papers' default tree; `joins` walks it bottom up."""
    tree = left_deep(NAMES)
    assert str(tree) == "((A B) C) D" and tree.streams == set(NAMES)
    assert [str(node) for node in joins(tree)] == ["A B", "(A B) C", "((A B) C) D"]
    bushy = read("(A B) (C D)")
    assert list(map(str, joins(bushy)))[-1] == "(A B) (C D)" and len(list(joins(bushy))) == 3


@given(st.data())
def test_stems_visit_connected_streams_first(data):
    """Each prefix of an ordering that the library picks is connected wherever the join graph allows it."""
    names = list("ABCDEF")
    edges = {frozenset(data.draw(st.permutations(names))[:2]) for _ in range(data.draw(st.integers(0, 9)))}

    def connected(some, one):
        return any(frozenset((one, other)) in edges for other in some)

    for name, order in stems(names, connected).orders.items():
        assert sorted((name, *order)) == names
        seen = {name}
        for follower in order:
            if not connected(seen, follower):
                assert not any(connected(seen, other) for other in names if other not in seen)
            seen.add(follower)
    assert connected_order("A", names, anything) == tuple(names)


def test_stems_is_a_word_unless_a_stream_is_called_so():
    """`stems` means orderings that the library picks; a stream of that name wins."""
    assert str(read("stems", ["A", "B", "C"])) == "A: B C | B: A C | C: A B"
    assert str(read(" stems ", ["A", "B"])) == "A: B | B: A"
    assert str(read("stems A", ["A", "stems"])) == "stems A"


def test_without_a_plan_streams_join_as_declared_while_they_are_connected():
    """The default is left-deep in the order of declaration, but for streams that nothing connects yet."""
    assert eddy.Eddy(chain()).plan == "((A B) C) D"
    streams = {name: eddy.Stream({"k": "int64", "j": "int64"}) for name in "ABC"}
    query = eddy.Query(streams, where=["A.k = C.k", "B.j = C.j"])
    assert eddy.Eddy(query).plan == "(A C) B"
    assert eddy.Eddy(query, plan="stems").plan == "A: C B | B: C A | C: A B"


# -- refusals ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text, says",
    [
        ("(A B) C", ["misses D", "every stream of the query takes part once"]),
        ("A", ["misses B, C, D"]),
        ("((A B) C) (D A)", ["repeats A", "once"]),
        ("((A B) (B C)) (C D)", ["repeats B, C"]),
        ("((A B) C) E", ["'E'", "no stream of the query", "It has A, B, C, D"]),
        ("(A B) C D", ["3 inputs at once", "'(A B) C D'", "two", "((A B) C) D"]),
        ("(A B C) D", ["3 inputs at once", "'A B C'", "Add parentheses"]),
        ("A B C D", ["4 inputs at once"]),
        ("((A B) C D", ["lacks 1 closing"]),
        ("(((A B", ["lacks 3 closing"]),
        ("(A B)) C", ["closes a parenthesis that it did not open"]),
        (")", ["closes a parenthesis"]),
        ("", ["nothing to join", "((A B) C) D"]),
        ("()", ["nothing to join"]),
        ("((A B) ()) D", ["nothing to join"]),
        ("A: B C | B: A C D | C: A B D | D: A B C", ["the ordering of A", "misses D"]),
        ("A: B C D D | B: A C D | C: A B D | D: A B C", ["the ordering of A", "repeats D"]),
        ("A: A B C D | B: A C D | C: A B D | D: A B C", ["the ordering of A", "repeats A"]),
        ("A: B C E | B: A C D | C: A B D | D: A B C", ["'E'", "It has A, B, C, D"]),
        ("E: A B C D | A: B C D | B: A C D | C: A B D | D: A B C", ["'E'", "no stream"]),
        ("A: B C D | B: A C D | C: A B D", ["misses an ordering for D"]),
        ("A: B C D | A: B C D | B: A C D | C: A B D", ["two orderings for stream A", "give each stream one"]),
        (
            "A 2: B C D | A: D B C | B: A C D | C: A B D",
            ["two orderings for stream A", "'A 3: ... | A 1: ...'"],
        ),
        (
            "A x: B C D | B: A C D | C: A B D | D: A B C",
            ["'x' is not a weight: it is a whole number above 0"],
        ),
        ("A 0: B C D | B: A C D | C: A B D | D: A B C", ["'0' is not a weight"]),
        ("A 1 2: B C D | B: A C D | C: A B D | D: A B C", ["is not an ordering"]),
        ("A: B C D | B A C D | C: A B D | D: A B C", ["'B A C D' is not an ordering", "'A: B C'"]),
        ("A: B C D | | C: A B D | D: A B C", ["'' is not an ordering"]),
        (": B C D | B: A C D", ["is not an ordering"]),
        (
            "A: (B C) D | B: A C D | C: B A D | D: A B C",
            [
                "A visits (B C), to which rows of B do not come",
                "ordering of B must begin with C",
                "'B: C ...'",
            ],
        ),
        (
            "A: B C D | B: A C D | C: (A B) D | D: C B A | C: A B D",
            ["two orderings for stream C"],
        ),
        (
            "A 2: B C D | A 1: C B D | B: A C D | C: (A B) D | D: C B A",
            ["C visits (A B), to which rows of A do not come"],
        ),
        (
            "A: B C D | B: A C D | C: B A D | D: ((A B) C)",
            ["'((A B) C)'", "parentheses in parentheses", "'(A B C)'", "said by the orderings"],
        ),
        ("A: (B C | B: C A D | C: B A D | D: A B C", ["'(B C'", "lacks a closing parenthesis"]),
        ("A: B C) D | B: C A D | C: B A D | D: A B C", ["'B C) D'", "that it did not open"]),
        ("A: () B C D | B: C A D | C: B A D | D: A B C", ["empty parentheses"]),
        ("A: (A B) C D | B: A C D | C: B A D | D: A B C", ["the ordering of A", "repeats A"]),
        ("A: (B X) C D | B: A C D | C: B A D | D: A B C", ["'X'", "no stream"]),
        ("A: B: C D | B: A C D | C: A B D | D: A B C", ["'B:'", "no stream"]),
    ],
)
def test_a_wrong_plan_is_refused_with_help(text, says):
    """The message names the plan, what is wrong with it and what to write instead."""
    with pytest.raises(eddy.PlanError) as error:
        read(text)
    assert repr(text) in str(error.value)
    for words in says:
        assert words in str(error.value), str(error.value)


def test_a_misspelt_stream_is_recognised():
    """A name that is nearly right is suggested."""
    with pytest.raises(eddy.PlanError, match="did you mean orders\\?"):
        read("(order clicks) items", ["orders", "clicks", "items"])
    with pytest.raises(eddy.PlanError, match="did you mean clicks\\?"):
        read(
            "orders: klicks items | clicks: orders items | items: orders clicks",
            ["orders", "clicks", "items"],
        )


@pytest.mark.parametrize("given", [None, 5, ["A", "B"], ("A", ("B", "C")), b"A B"])
def test_a_plan_is_a_string(given):
    """Anything else is refused, with an example of what a plan is."""
    with pytest.raises(eddy.PlanError, match=r"a plan is a string such as '\(\(A B\) C\) D', not "):
        read(given)


@given(st.text("AB() :|CD", max_size=30))
def test_any_text_is_read_or_refused(text):
    """No text makes the reader fail in another way, and what it accepts names every stream once."""
    try:
        made = read(text)
    except eddy.PlanError as error:
        assert len(str(error)) > 20
    else:
        assert read(str(made)) == made


@pytest.mark.parametrize("name", ["a b", "a(", ")", "a:b", "a|b", "tab\tbed"])
def test_names_that_a_plan_cannot_carry_are_refused_by_the_query(name):
    """Every name that a query accepts can be written in a plan."""
    with pytest.raises(eddy.QueryError, match="name"):
        eddy.Query({name: eddy.Stream({"k": "int64"}), "B": eddy.Stream({"k": "int64"})}, cross=True)

"""Plans: read and printed in the papers' notation, refused with help, and compiled to one routing table."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import eddy
from eddy.itinerary import RESULTS, Compiler, Key, Place, StairId
from eddy.plan import Join, Leaf, Orderings, connected_order, joins, left_deep, parse_plan, stems
from eddy.plan import orderings as make_orderings
from stairs.program_kernels import WHOLE
from tests import queries
from tests.cases import Case, make_query
from tests.strategies import Drawn, plan

NAMES = ["A", "B", "C", "D"]
MANY = ["orders", "A", "B2", "stems", "größe", "x.y", "0", "É", "clicks-eu", "Ω", "k,k", "'"]


def anything(some, one):
    """Every stream is connected with every other."""
    return True


def read(text, names=NAMES, connected=anything):
    """The plan that a text says."""
    return parse_plan(text, names, connected)


def chain(columns="k", names="ABCD"):
    """A query in which each stream joins the next one on these columns."""
    where = [f"{a}.{c} = {b}.{c}" for a, b in itertools.pairwise(names) for c in columns]
    streams = {name: eddy.Stream(dict.fromkeys(columns, "int64")) for name in names}
    return eddy.Query(streams, where=where)


def table(query, text):
    """The routing table of a plan for a query."""
    compiler = Compiler(query)
    return compiler.compile(parse_plan(text, query.names, compiler.connected))


# -- notation ----------------------------------------------------------------------------------------------------


@st.composite
def trees(draw, names):
    """A random binary tree over the names."""
    nodes = [Leaf(name) for name in draw(st.permutations(names))]
    while len(nodes) > 1:
        place = draw(st.integers(0, len(nodes) - 2))
        nodes[place : place + 2] = [Join(nodes[place], nodes[place + 1])]
    return nodes[0]


@st.composite
def orderings(draw, names):
    """An ordering for each name."""
    ways = {}
    for name in names:
        others = st.permutations([n for n in names if n != name]).map(tuple)
        orders = draw(st.lists(others, min_size=1, max_size=3, unique=True))
        ways[name] = tuple((draw(st.integers(1, 9)) if len(orders) > 1 else 1, order) for order in orders)
    return make_orderings(ways)


@st.composite
def mixed(draw, names):
    """Orderings that may visit composites."""
    return read(plan(Drawn(draw), list(names), shape="mixed"), names)


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


# -- routing tables ----------------------------------------------------------------------------------------------


def visits(query, text, stream):
    """The itinerary of a stream, as a list of (what is probed, where matches go)."""
    routes = table(query, text)
    number = query.names.index(stream)
    outs = {id(step): stop.out for stop in routes.stops for step in stop.steps}

    def word(place):
        if place == RESULTS:
            return "results"
        return "".join(query.names[s] for s in getattr(place, "path", place.streams))

    (steps,) = routes.itineraries[number]
    return [(word(step.target), word(outs[id(step)])) for step in steps]


def test_a_left_deep_tree_is_a_list_of_probes_for_each_stream():
    """Each row probes the sibling at every level, and its matches are stored on the way up."""
    text = "((A B) C) D"
    assert visits(chain(), text, "A") == [("B", "AB"), ("C", "ABC"), ("D", "results")]
    assert visits(chain(), text, "B") == [("A", "AB"), ("C", "ABC"), ("D", "results")]
    assert visits(chain(), text, "C") == [("AB", "ABC"), ("D", "results")]
    assert visits(chain(), text, "D") == [("ABC", "results")]


def test_a_bushy_tree_joins_composites():
    """Rows of one side probe the composites of the other."""
    text = "(A B) (C D)"
    assert visits(chain(), text, "A") == [("B", "AB"), ("CD", "results")]
    assert visits(chain(), text, "D") == [("C", "CD"), ("AB", "results")]


def test_orderings_store_nothing_on_the_way():
    """Each stream visits the leaves of the others in its own order; matches are in places that nobody probes."""
    text = "A: C B D | B: A C D | C: B D A | D: C B A"
    assert visits(chain(), text, "A") == [("C", "AC"), ("B", "ACB"), ("D", "results")]
    assert visits(chain(), text, "D") == [("C", "DC"), ("B", "DCB"), ("A", "results")]
    routes = table(chain(), text)
    assert routes.stairs == ()
    assert all(isinstance(stop.out, Place) for stop in routes.stops)
    assert all(len(step.target.streams) == 1 for stop in routes.stops for step in stop.steps)


def test_orderings_store_what_somebody_visits():
    """Rows of A and B come together in (A B) and go on from there; nobody visits what they make with C."""
    text = "A: B C D | B: A C D | C: (A B) D | D: C (A B)"
    assert visits(chain(), text, "A") == [("B", "AB"), ("C", "ABC"), ("D", "results")]
    assert visits(chain(), text, "B") == [("A", "AB"), ("C", "ABC"), ("D", "results")]
    assert visits(chain(), text, "C") == [("AB", "CAB"), ("D", "results")]
    assert visits(chain(), text, "D") == [("C", "DC"), ("AB", "results")]
    assert [stair.streams for stair in table(chain(), text).stairs] == [(0, 1)]


def test_rows_that_go_on_in_different_ways_part_after_the_stair():
    """Then the step into it is made twice: into the STAIR, and into a place of the stream's own."""
    text = "A: B C D | B: A D C | C: (A B) D | D: (A B) C"
    routes = table(chain(), text)
    into = {stop.out: [step.source.streams for step in stop.steps] for stop in routes.stops}
    (stair,) = routes.stairs
    assert into[stair] == [(0,), (1,)]
    assert visits(chain(), text, "A") == [("B", "AB"), ("C", "ABC"), ("D", "results")]
    assert visits(chain(), text, "B") == [("A", "BA"), ("D", "BAD"), ("C", "results")]
    assert not any(step.source == stair for stop in routes.stops for step in stop.steps)


def test_a_stair_that_is_visited_by_two_keys_is_two():
    """C visits (A B) by y and D by z; rows of A and B go on from the one that has the key they need."""
    streams = {name: eddy.Stream(dict.fromkeys("xyz", "int64")) for name in "ABCD"}
    query = eddy.Query(streams, where=["A.x = B.x", "A.y = C.y", "B.z = D.z"])
    classes = {next(iter(c.members.values())): c.index for c in query.key_classes}
    routes = table(query, "A: B C D | B: A C D | C: (A B) D | D: (A B) C")
    keys = [Key((classes["y"],)), Key((classes["z"],))]
    assert sorted(routes.stairs, key=str) == sorted((StairId((0, 1), key) for key in keys), key=str)
    (steps,) = routes.itineraries[0]
    assert steps[1].source == StairId((0, 1), keys[0])


@given(st.data(), st.integers(3, 6))
@settings(max_examples=60)
def test_a_tree_written_as_orderings_is_that_tree(data, count):
    """Each stream visits its sibling, then its parent's, and so on: the same STAIRs by the same steps."""
    pick = Drawn(data.draw)
    made = queries.make(pick, count)
    query = make_query(Case(made.streams, made.where, [], cross=made.cross))
    tree = data.draw(trees(list(query.names)))
    orders = {name: [] for name in query.names}
    for node in joins(tree):
        for side, other in ((node.left, node.right), (node.right, node.left)):
            for name in side.streams:
                orders[name].append(f"({' '.join(sorted(other.streams))})")
    text = " | ".join(f"{name}: {' '.join(order)}" for name, order in orders.items())
    one, other = table(query, str(tree)), table(query, text)
    steps = [
        {(stop.out, step.source, step.target) for stop in routes.stops for step in stop.steps}
        for routes in (one, other)
    ]
    leaves = {place for routes in (one, other) for place in routes.leaves}
    named = [{tuple(p.streams if p in leaves else p for p in step) for step in some} for some in steps]
    assert set(one.stairs) == set(other.stairs) and named[0] == named[1]


def test_a_stair_is_keyed_by_all_equalities_with_its_sibling():
    """The key of a STAIR is made of the classes that it shares with what probes it, and nothing else."""
    streams = {
        "A": eddy.Stream({"x": "int64", "y": "int64"}),
        "B": eddy.Stream({"x": "int64", "z": "int64"}),
        "C": eddy.Stream({"y": "int64", "z": "int64"}),
    }
    query = eddy.Query(streams, where=["A.x = B.x", "A.y = C.y", "B.z = C.z"])
    classes = {next(iter(c.members.values())): c.index for c in query.key_classes}
    (pair,) = table(query, "(A B) C").stairs
    assert pair == StairId((0, 1), Key((classes["y"], classes["z"])))
    (other,) = table(query, "A (B C)").stairs
    assert other == StairId((1, 2), Key((classes["x"], classes["y"])))
    assert table(query, "(B A) C").stairs == (pair,)


def test_one_class_of_equal_keys_lets_any_stream_come_next():
    """Equalities are closed under transitivity, so A and D may meet first where only neighbours were written."""
    routes = table(chain(), "((A D) B) C")
    assert all(
        step.target.key == Key((0,)) and step.theta is None for stop in routes.stops for step in stop.steps
    )


def test_theta_steps_are_keyed_by_row():
    """Where no equality connects two sides, a predicate finds rows of one stream and these are the keys."""
    streams = {name: eddy.Stream({"v": "int64", "k": "int64"}) for name in "ABC"}
    query = eddy.Query(streams, where=["A.k = B.k", "B.v < C.v"])
    routes = table(query, "(A B) C")
    assert routes.stairs == (StairId((0, 1), Key(row=1)),)
    up, down = routes.stops[-1].steps
    assert (up.target, up.theta.text) == (StairId((2,), Key(row=2)), "B.v < C.v")
    assert down.target == StairId((0, 1), Key(row=1)) and down.theta is up.theta
    assert up.residuals == down.residuals == ()


def test_without_a_predicate_everything_matches():
    """A cross product is keyed by nothing; a predicate over three streams waits until all are there."""
    streams = {name: eddy.Stream({"v": "int64"}) for name in "ABC"}
    query = eddy.Query(streams, where=["A.v + B.v = C.v"], cross=True)
    routes = table(query, "(A B) C")
    first, last = routes.stops
    assert [step.target.key for step in first.steps] == [Key(), Key()]
    assert all(step.theta is None and step.residuals == () for step in first.steps)
    assert all(step.theta is query.residuals[0] or step.residuals == query.residuals for step in last.steps)


@given(st.data(), st.integers(2, 6))
@settings(max_examples=150)
def test_every_itinerary_decides_everything_once(data, count):
    """Under any plan, each stream's rows meet every other stream once, and each predicate exactly once."""
    pick = Drawn(data.draw)
    made = queries.make(pick, count)
    query = make_query(Case(made.streams, made.where, [], cross=made.cross))
    routes = table(query, plan(pick, list(query.names)))
    outs = {id(step): stop.out for stop in routes.stops for step in stop.steps}
    order = [stop.out for stop in routes.stops]
    assert order.count(RESULTS) == 1 and order[-1] == RESULTS
    members = [frozenset(query.names.index(n) for n in c.members) for c in query.key_classes]
    for ways in routes.itineraries.values():
        shares = [steps[0].share for steps in ways]
        assert [0, *(end for _, end in shares)] == [*(start for start, _ in shares), WHOLE]
    for stream, steps in ((stream, steps) for stream, ways in routes.itineraries.items() for steps in ways):
        reached, decided = {stream}, []
        for step in steps:
            assert set(step.source.streams) == reached and not reached & set(step.target.streams)
            shared = tuple(i for i, m in enumerate(members) if m & reached and m & set(step.target.streams))
            assert step.target.key.classes == shared
            assert step.theta is None or not shared
            decided += [*step.residuals, *([step.theta] if step.theta else [])]
            reached |= set(step.target.streams)
            assert tuple(sorted(reached)) == (
                step.streams if outs[id(step)] == RESULTS else outs[id(step)].streams
            )
            if isinstance(step.source, StairId) and len(step.source.streams) > 1:
                made_at = order.index(step.source)
                assert made_at < order.index(outs[id(step)]), "a stop reads what a later one writes"
        assert reached == set(range(count)) and outs[id(steps[-1])] == RESULTS
        # A predicate inside a composite was decided when the composite was made, by an itinerary of its own.
        inside = [{query.names[s] for s in step.target.streams} for step in steps]
        due = [residual for residual in query.residuals if not any(residual.streams <= t for t in inside)]
        assert sorted(map(id, decided)) == sorted(map(id, due))


# -- what a change keeps -----------------------------------------------------------------------------------------


def kept(query, before, after):
    """The STAIRs that survive a plan change, by the names of their streams."""
    both = set(table(query, before).stairs) & set(table(query, after).stairs)
    return sorted("".join(query.names[s] for s in stair.streams) for stair in both)


def test_a_change_keeps_the_stairs_that_both_plans_have():
    """With one key class, a STAIR is its set of streams, whatever the order inside and around it."""
    query = chain()
    assert kept(query, "((A B) C) D", "((B A) D) C") == ["AB"]
    assert kept(query, "((A B) C) D", "D (C (B A))") == ["AB", "ABC"]
    assert kept(query, "((A B) C) D", "(A B) (C D)") == ["AB"]
    assert kept(query, "((A B) C) D", "((C D) A) B") == []
    assert kept(query, "((A B) C) D", "((B C) A) D") == ["ABC"]
    assert kept(query, "((A B) C) D", "stems") == []


def test_the_same_streams_under_another_key_are_another_stair():
    """A STAIR that a new sibling probes by other attributes cannot be kept."""
    streams = {
        "A": eddy.Stream({"x": "int64", "y": "int64"}),
        "B": eddy.Stream({"x": "int64", "z": "int64"}),
        "C": eddy.Stream({"y": "int64"}),
        "D": eddy.Stream({"z": "int64"}),
    }
    query = eddy.Query(streams, where=["A.x = B.x", "A.y = C.y", "B.z = D.z"])
    assert kept(query, "((A B) C) D", "((A B) D) C") == []
    assert kept(query, "((A B) C) D", "((B A) C) D") == ["AB", "ABC"]
    assert kept(query, "((A B) C) D", "((A C) B) D") == ["ABC"]


@given(st.data(), st.integers(3, 5))
@settings(max_examples=60)
def test_an_engine_keeps_what_the_tables_share(data, count):
    """`migrate` keeps exactly the STAIRs of both tables, entries and all, and makes the others anew."""
    names = "ABCDE"[:count]
    query = chain(names=names)
    first, second = data.draw(trees(list(names))), data.draw(trees(list(names)))
    assume(first != second)
    engine = eddy.Eddy(query, plan=str(first))
    for name in names[:-1]:
        engine.push(name, {"k": [1, 2]})
    before = dict(engine._router.stairs)
    engine.migrate(str(second))
    after = engine._router.stairs
    compiler = Compiler(query)
    assert set(before) == set(compiler.compile(first).stairs)
    assert set(after) == set(compiler.compile(second).stairs)
    assert all(after[wanted] is before[wanted] for wanted in after if wanted in before)
    assert engine.statistics().migrations == 1
    assert len(engine.push(names[-1], {"k": [2, 3]})) == 1


def test_a_plan_that_is_the_plan_already_changes_nothing():
    """Migrating to the current plan, however it is written, is no migration."""
    engine = eddy.Eddy(chain(), plan="((A B) C) D")
    engine.migrate("(((A B)) C) D")
    assert (engine.statistics().migrations, engine.plan) == (0, "((A B) C) D")
    engine.migrate("((B A) C) D")
    assert (engine.statistics().migrations, engine.plan) == (1, "((B A) C) D")


def test_without_a_plan_streams_join_as_declared_while_they_are_connected():
    """The default is left-deep in the order of declaration, but for streams that nothing connects yet."""
    assert eddy.Eddy(chain()).plan == "((A B) C) D"
    streams = {name: eddy.Stream({"k": "int64", "j": "int64"}) for name in "ABC"}
    query = eddy.Query(streams, where=["A.k = C.k", "B.j = C.j"])
    assert eddy.Eddy(query).plan == "(A C) B"
    assert eddy.Eddy(query, plan="stems").plan == "A: C B | B: C A | C: A B"


def test_twenty_streams():
    """A plan over twenty streams reads, prints and compiles like any other."""
    names = [f"S{i}" for i in range(20)]
    query = chain(names=names)
    text = str(left_deep(names[::-1]))
    routes = table(query, text)
    assert len(routes.stairs) == 18 and len(routes.stops) == 19
    assert eddy.Eddy(query, plan=text).plan == text
    assert len(table(query, "stems").stops) == 20 * 18 + 1

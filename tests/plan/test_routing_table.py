"""What a plan is compiled to: itineraries, STAIRs and their keys, and predicates decided once."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

import eddy
from eddy.plan.compiler import RESULTS, Key, Place, StairId
from eddy.plan.plan import joins, left_deep
from stairs.program_kernels import WHOLE
from tests import queries
from tests.cases import Case, make_query
from tests.plans import chain, table, trees
from tests.strategies import Drawn, plan


def itineraries(routes):
    """For each stream the ways that its rows take to the results, most often one: the steps of each in order."""
    after, starts = {}, []
    for stop in reversed(
        routes.stops
    ):  # a step that only leads to a STAIR, where nobody goes on, is on no way
        leads = stop.out == RESULTS or stop.out in after
        for step in reversed(stop.steps) if leads else ():
            if len(step.source.streams) == 1:
                starts.insert(0, (step, stop.out))
            else:
                after[step.source] = (step, stop.out)

    def follow(step, out):
        return (step,) if out == RESULTS else (step, *follow(*after[out]))

    streams = sorted(step.source.streams[0] for step, _ in starts)
    return {s: tuple(follow(*start) for start in starts if start[0].source.streams == (s,)) for s in streams}


def visits(query, text, stream):
    """The itinerary of a stream, as a list of (what is probed, where matches go)."""
    routes = table(query, text)
    number = query.names.index(stream)
    outs = {id(step): stop.out for stop in routes.stops for step in stop.steps}

    def word(place):
        if place == RESULTS:
            return "results"
        return "".join(query.names[s] for s in getattr(place, "path", place.streams))

    (steps,) = itineraries(routes)[number]
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
    (steps,) = itineraries(routes)[0]
    assert steps[1].source == StairId((0, 1), keys[0])


def drawn_query(pick, count):
    """A random query over so many streams."""
    made = queries.make(pick, count)
    return make_query(Case(made.streams, made.where, [], cross=made.cross))


@given(st.data(), st.integers(3, 6))
@settings(max_examples=60)
def test_a_tree_written_as_orderings_is_that_tree(data, count):
    """Each stream visits its sibling, then its parent's, and so on: the same STAIRs by the same steps."""
    pick = Drawn(data.draw)
    query = drawn_query(pick, count)
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
        step.target.key == Key((0,)) and step.thetas == () for stop in routes.stops for step in stop.steps
    )


def test_theta_steps_are_keyed_by_row():
    """Where no equality connects two sides, a predicate finds rows of one stream and these are the keys."""
    streams = {name: eddy.Stream({"v": "int64", "k": "int64"}) for name in "ABC"}
    query = eddy.Query(streams, where=["A.k = B.k", "B.v < C.v"])
    routes = table(query, "(A B) C")
    assert routes.stairs == (StairId((0, 1), Key(row=1)),)
    up, down = routes.stops[-1].steps
    assert (up.target, up.thetas) == (StairId((2,), Key(row=2)), query.residuals)
    assert (down.target, down.thetas) == (StairId((0, 1), Key(row=1)), query.residuals)
    assert up.residuals == down.residuals == ()


def test_without_a_predicate_everything_matches():
    """A cross product is keyed by nothing; a predicate over three streams waits until all are there."""
    streams = {name: eddy.Stream({"v": "int64"}) for name in "ABC"}
    query = eddy.Query(streams, where=["A.v + B.v = C.v"], cross=True)
    routes = table(query, "(A B) C")
    first, last = routes.stops
    assert [step.target.key for step in first.steps] == [Key(), Key()]
    assert all(step.thetas == () and step.residuals == () for step in first.steps)
    assert all(query.residuals in (step.thetas, step.residuals) for step in last.steps)


@given(st.data(), st.integers(2, 6))
@settings(max_examples=150)
def test_every_itinerary_decides_everything_once(data, count):
    """Under any plan, each stream's rows meet every other stream once, and each predicate exactly once."""
    pick = Drawn(data.draw)
    query = drawn_query(pick, count)
    routes = table(query, plan(pick, list(query.names)))
    outs = {id(step): stop.out for stop in routes.stops for step in stop.steps}
    order = [stop.out for stop in routes.stops]
    assert order.count(RESULTS) == 1 and order[-1] == RESULTS
    members = [frozenset(query.names.index(n) for n in c.members) for c in query.key_classes]
    for ways in itineraries(routes).values():
        shares = [steps[0].share for steps in ways]
        assert [0, *(end for _, end in shares)] == [*(start for start, _ in shares), WHOLE]
    for stream, steps in ((stream, steps) for stream, ways in itineraries(routes).items() for steps in ways):
        reached, decided = {stream}, []
        for step in steps:
            assert set(step.source.streams) == reached and not reached & set(step.target.streams)
            shared = tuple(i for i, m in enumerate(members) if m & reached and m & set(step.target.streams))
            assert step.target.key.classes == shared
            assert not (step.thetas and shared)
            decided += [*step.residuals, *step.thetas]
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


def test_twenty_streams():
    """A plan over twenty streams reads, prints and compiles like any other."""
    names = [f"S{i}" for i in range(20)]
    query = chain(names=names)
    text = str(left_deep(names[::-1]))
    routes = table(query, text)
    assert len(routes.stairs) == 18 and len(routes.stops) == 19
    assert eddy.Eddy(query, plan=text).plan == text
    assert len(table(query, "stems").stops) == 20 * 18 + 1

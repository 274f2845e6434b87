"""What an engine is given: checked when it is made, and from then on to be read only."""

from __future__ import annotations

import copy
import operator
from collections.abc import Iterable
from numbers import Real
from typing import Any

from eddy.checks import bytes_of, choice, flag, seed_number, whole
from eddy.errors import EddyError
from eddy.migration.migrations import check_technique
from eddy.query.finality import never_final
from eddy.query.names import nearest
from eddy.query.query import Query
from eddy.reorder.disorder import disorder_of
from eddy.state import Options
from policies import Feedback, Fixed, Jisc, Migration, NoFeedback, Routing

JOINS = ("hash", "nested")
AT_ONCE = 2.0
"""Batches whose rows a state may have to be filled at once, in an engine that changes its plan by itself."""
MOST_THREADS = 64
"""Threads of an engine, at most. Each has a shard with tables of its own, and finds its rows in all of a batch, so that
hundreds of them would take memory and time, and bring nothing."""


DEFAULTS: dict[str, Any] = {
    **dict.fromkeys(("routing", "migration", "feedback", "memory")),
    **{"batch_size": 4096, "joins": "hash", "seed": 0, "retractions": False, "advise": False, "threads": 1},
    **dict.fromkeys(("lateness", "late", "idle", "clock")),
}
"""What options are where they are not given; None: there is none, or what is usual."""


def check_known(given: Iterable[str]) -> None:
    """EddyError for an option that an engine does not have."""
    known = ("query", "plan", *DEFAULTS)
    for name in given:
        if name not in known:
            raise EddyError(f"Eddy has no option {name}: {nearest(name, known)}")


def checked(query: Any, plan: Any = None, **given: Any) -> Options:
    """The options of an engine from the arguments of `Eddy`; EddyError for one that is wrong, ``plan`` aside."""
    if not isinstance(query, Query):
        raise EddyError(
            f"Eddy needs an eddy.Query, not {type(query).__name__}: make one with eddy.Query or eddy.sql"
        )
    given = {**DEFAULTS, **given}
    advise = flag("advise", given["advise"])
    routing = given["routing"]
    own = usual_routing(plan, advise) if routing is None else policy("routing", routing, Routing, None)
    check_routing(own)
    technique = policy("migration", given["migration"], Migration, usual_technique(query, own, advise))
    feedback = policy("feedback", given["feedback"], Feedback, NoFeedback())
    retractions = flag("retractions", given["retractions"])
    query = query.as_declared() if retractions else query
    check_technique(technique, query, retractions)
    check_attachments(query, retractions)
    return Options(
        query=query,
        routing=own,
        migration=technique,
        feedback=feedback,
        batch_size=whole("batch_size", given["batch_size"]),
        joins=choice("joins", given["joins"], JOINS),
        seed=seed_number(given["seed"]),
        retractions=retractions,
        memory=None if given["memory"] is None else bytes_of(given["memory"]),
        advise=advise,
        threads=thread_count(given["threads"]),
        disorder=disorder_of(query, *(given[name] for name in ("lateness", "late", "idle", "clock"))),
        stays=plan is not None and routing is None,
    )


def check_attachments(query: Query, retractions: bool) -> None:
    """Refuse final results of rows that a composite may still match when it has ended without a partner."""
    pair = None if retractions or query.signed else never_final(query.attachments)
    if pair is not None:
        one, late = pair
        raise EddyError(
            f"{one} behind {late} cannot be final: what ends without a partner there may still match rows of "
            f"{one.stream} that were given with NULLs. Write EMIT CHANGES, give retractions=True, or put {one} first"
        )


def given(name: str, else_do: str) -> Any:
    """A property that shows the option of that name. Much follows from an option when an engine is made, so
    it cannot be set afterwards; the error says what can be done."""

    def refuse(engine: object, value: object) -> None:
        raise AttributeError(f"{name} is given when an engine is made, and cannot be set later: {else_do}")

    return property(operator.attrgetter(f"_state.options.{name}"), refuse)


def reloaded(name: str) -> Any:
    """The same for an option that `Eddy.load` takes."""
    return given(name, f"save() the engine, and Eddy.load(path, {name}=...) goes on with another")


def thread_count(value: Any) -> int:
    """A whole number from 1 to `MOST_THREADS`."""
    number = whole("threads", value)
    if number > MOST_THREADS:
        raise EddyError(
            f"threads must be at most {MOST_THREADS}, not {value!r}: give no more than there are processors that have "
            "nothing else to do"
        )
    return number


def policy(what: str, value: Any, kind: type, default: Any) -> Any:
    """The engine's own copy of a policy: what one engine teaches it is no business of another's."""
    if value is None:
        return default
    if not isinstance(value, kind):
        hint = f": pass an instance, {value.__name__}()" if isinstance(value, type) else ""
        raise EddyError(f"{what} must be a policies.{kind.__name__}, not {value!r}{hint}")
    if isinstance(value, (Migration, Feedback)) and value.literal:
        raise EddyError(
            f"{type(value).__name__}(literal=True) is what its paper prints, which loses results: run it with "
            "eddy.AsPrinted, which counts them"
        )
    try:
        return copy.deepcopy(value)
    except Exception as error:
        raise EddyError(
            f"an engine works with a copy of the policies that it is given, and {type(value).__name__} cannot be "
            f"copied ({type(error).__name__}: {error}): give it a method __deepcopy__(self, memo), which may return "
            "self where the policy is given to one engine only"
        ) from error


def check_routing(routing: Routing) -> None:
    """Refuse a policy that does not say when it is to be asked in a way that can be followed."""
    name, work = type(routing).__name__, routing.work
    if routing.period is not None:
        whole(f"period of the routing policy {name}", routing.period)
    numbers = isinstance(work, tuple) and len(work) == 2 and all(isinstance(n, Real) for n in work)
    if work is not None and not numbers:
        raise EddyError(
            f"work of the routing policy {name} must be None or two numbers, (matches, matches an event), not {work!r}"
        )


def usual_routing(plan: str | None, advise: bool) -> Routing:
    """The routing policy where none is given: a plan that is given stays; but there has to be somebody to advise."""
    if plan is not None and not advise:
        return Fixed()
    from policies import Auto  # the optimiser's kernels are compiled only where it is needed

    return Auto()


def usual_technique(query: Query, routing: Routing, advise: bool) -> Migration:
    """The migration technique where none is given: an engine that changes its plan by itself, and so more often, fills
    what is small at once."""
    decides = routing.period is not None and query.accepts(routing)
    return Jisc(at_once=AT_ONCE) if decides and not advise else Jisc()

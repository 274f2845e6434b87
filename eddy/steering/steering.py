"""Who decides about the plan: the routing policy, within what the user allows."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

from eddy.errors import EddyError, PlanError, PolicyError
from eddy.plan.pins import Pin, check_pins, parse_pin, with_pins
from eddy.plan.plan import Join, Plan
from eddy.steering.decisions import Decision, Ledger, as_choice
from eddy.steering.view import Watch
from policies import Choice, View

if TYPE_CHECKING:
    from eddy.state import EngineState


SELDOM = 65_536
"""Events after which it is reckoned anew when to ask, at the latest: a policy may have another period by then."""


class Steering:
    """Asks the policy when it is time, keeps the user's pins, and remembers what was decided."""

    def __init__(self, state: EngineState) -> None:
        self._state = state
        self.advise = state.options.advise
        self.frozen = False
        self.pins: list[Pin] = []
        self.watch = Watch(state)
        self.ledger = Ledger()
        self.decided = 0
        """Events before the policy was last asked."""
        self._again = 0
        """Events before which nothing is to be done, while no more matches are made than `_most`."""
        self._most: float | None = None

    @property
    def due(self) -> bool:
        """Whether it is time to ask the policy. It is asked for with every push, and nearly always that is all."""
        return self.due_after(0)

    def due_after(self, more: int) -> bool:
        """Whether it is time when ``more`` events are counted: those of a push that is under way."""
        state = self._state
        events = state.events + more
        if events < self._again and (self._most is None or state.executor.matches_made <= self._most):
            return False
        return not self.frozen and self._is_due(events)

    def _is_due(self, events: int) -> bool:
        """As `due`, reckoned anew: with every event the policy lets the plan make some more matches unseen."""
        state, period, work = (
            self._state,
            self._state.options.routing.period,
            self._state.options.routing.work,
        )
        since = events - self.decided
        if period is not None and since >= period:
            return True
        self._again, self._most = events + SELDOM, None
        if period is None:
            return False
        self._again = min(self._again, self.decided + period)
        if work is None or not self.watch.joins:
            return False
        matches, each = work
        self._most = self.watch.matched + matches + each * since
        return state.executor.matches_made > self._most

    def decide(self, between: bool = False) -> None:
        """Before a push, when the results of the last are handed out: the policy may choose another plan.

        ``between`` two batches of one push, too. An error of a policy is kept for the next push then.
        """
        if not self.due:
            return
        state, routing = self._state, self._state.options.routing
        self.decided = self._again = state.events
        if not state.query.accepts(routing):
            return
        start = time.perf_counter()
        try:
            if not state.access.outside(lambda: routing.wants(self.watch.glance())):
                self.watch.forget()
                return
            view = self.take_view()
            given = state.access.outside(lambda: routing.choose(view))
        except Exception as error:  # nothing of the next batch has been taken in yet
            if between:
                state.faults.note("routing", routing, error)
                return
            raise PolicyError(
                f"the routing policy {type(routing).__name__} raised {type(error).__name__}: {error}. The batch was "
                "not taken: push it again, and the policy is asked when it is due the next time; after freeze() the "
                "engine goes on without it"
            ) from error
        if given is not None:
            self._carry_out(given, view, time.perf_counter() - start, between)

    def take_view(self) -> View:
        return self.watch.take_view(self.pinned)

    def tell(self) -> list[str]:
        """Who chooses the plan, what it may not touch, and what was decided last, as text."""
        state, routing = self._state, self._state.options.routing
        period, what = routing.period, "the plan stays"
        if period is not None and state.query.accepts(routing):
            last = f"last asked after {self.decided:,} events, next" if self.decided else "first asked"
            what = "frozen" if self.frozen else f"{last} after {self.decided + period:,}"
            what = f"only advises, {what}" if self.advise else what
        pins = f"; pinned {', '.join(self.pinned)}" if self.pins else ""
        lines = [f"routing {type(routing).__name__}: {what}{pins}"]
        decision = self.ledger.last
        if decision is not None:
            why = f": {decision.reason}" if decision.reason else ""
            lines.append(
                f"last decision, after {decision.events:,} events: {decision.plan}, {decision.outcome}{why}"
            )
            others = [f"{other.plan} ({1e9 * other.cost:,.0f} ns)" for other in decision.alternatives]
            if others:
                lines.append(f"next best plans then: {', '.join(others)}")
        return lines

    @property
    def pinned(self) -> tuple[str, ...]:
        return tuple(pin.text for pin in self.pins)

    def _carry_out(self, given: object, view: View, thinking: float, between: bool) -> None:
        """Change the plan, or only say so; a plan that cannot be is refused, and the engine goes on."""
        state, former, cost = self._state, str(self._state.plan), None
        choice, reason, outcome = Choice(str(given)), "", "advised"
        text = choice.plan
        try:
            choice = as_choice(given)
            text, reason = choice.plan, choice.reason
            plan = state.factory.parse(text)
            self.check(plan)
            if plan == state.plan:
                return
            text = str(plan)
            if not self.advise:
                cost = state.changes.change(plan)
                outcome = "changed"
        except PolicyError as error:  # of the technique
            if between:
                cause = error.__cause__
                state.faults.note(
                    "migration", state.options.migration, cause if isinstance(cause, Exception) else error
                )
                return
            raise PolicyError(f"{error}, and the batch was not taken: push it again") from error.__cause__
        except (EddyError, ValueError) as error:
            if state.broken is not None:
                raise
            outcome, reason = "refused", str(error)
        except Exception as error:
            if not between or state.broken is not None:
                raise
            state.faults.note("routing", state.options.routing, error)  # nothing has changed
            return
        events = sum(view.arrivals.values())
        before = view.seconds / events if events else None
        believed = choice.believed_cost, choice.believed_gain
        decision = Decision(
            view.events, former, text, outcome, reason, *believed, thinking, before, rivals=choice.rivals
        )
        self.ledger.note(decision, state.seconds, cost)

    # -- the user ----------------------------------------------------------------------------------------------------

    def check(self, plan: Plan) -> None:
        """Refuse a plan that breaks a pin."""
        if self.pins:
            check_pins(plan, self.pins)

    def restore(self, pins: Sequence[str], frozen: bool) -> None:
        """A snapshot is being loaded, which has these pins."""
        plan = self._state.plan
        for text in pins:
            pin = parse_pin(text, self._state.query.names, self.pins)
            if not pin.kept(plan):
                raise PlanError(
                    f"plan {str(plan)!r} breaks the pin {text!r} of the saved engine: load without plan, and then "
                    f"unpin({text!r}) and migrate({str(plan)!r}); or name a plan in which it is a part"
                )
            self.pins.append(pin)
        self.frozen = frozen

    def resume(self, decided: int) -> None:
        """A snapshot was loaded, made when the policy had last been asked after ``decided`` events."""
        self.decided, self._again = decided, 0
        self.watch = Watch(self._state)

    def change(self, plan: Plan) -> None:
        """Change to a plan that the user wants; nothing happens if it is the current one."""
        state = self._state
        if plan != state.plan:
            state.changes.change(plan)
            self.ledger.close(state.events, state.seconds)

    def pin(self, text: str) -> None:
        """Keep a sub-plan from now on; the plan is changed if it has it not."""
        state = self._state
        if not state.executor.routers:
            raise PlanError("a set difference has no sub-plans to pin: freeze() keeps its order")
        pin = parse_pin(text, state.query.names, self.pins)
        if any(known.nodes == pin.nodes for known in self.pins):
            return
        pins, plan = [*self.pins, pin], state.plan
        if not pin.kept(plan):
            self.change(with_pins(plan if isinstance(plan, Join) else state.factory.parse(None), pins))
        self.pins = pins

    def unpin(self, text: str | None) -> None:
        """Forget a pin, or all of them."""
        if text is None:
            self.pins = []
            return
        pin = parse_pin(text, self._state.query.names, ())
        left = [known for known in self.pins if known.nodes != pin.nodes]
        if len(left) == len(self.pins):
            has = f"pinned are {', '.join(self.pinned)}" if self.pins else "nothing is pinned"
            raise PlanError(f"{text!r} is not pinned: {has}")
        self.pins = left

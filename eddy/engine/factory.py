"""What a query is run with: everything that an engine, a black box or a loaded snapshot is put together from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from eddy.intake.intake import stored_columns
from eddy.intake.lowwater_kernels import GIVEN
from eddy.intake.travel import ROW, WHEN, Share
from eddy.migration.black_box import BlackBox
from eddy.plan.compiler import Compiler
from eddy.plan.difference_plan import Subtractions, parse_subtractions
from eddy.plan.plan import Plan, connected_order, left_deep, parse_plan
from eddy.query.bands import measures
from eddy.query.query import Query
from eddy.query.windows import Unbounded
from eddy.results.output import GroupedOutput, Output, SignedOutput
from eddy.router.executor import PlanExecutor
from eddy.router.router import Router
from eddy.store.payload import Payload
from eddy.store.stream import StreamState
from eddy.values.strings import StringPool
from eddy.values.types import INT64, Array
from policies import Feedback, NoFeedback

if TYPE_CHECKING:
    from eddy.attachments.streams import AttachedStreams


class Factory:
    """Makes what a query needs; ``share`` is given where that is a part of a whole, and ``pool`` where strings are
    somebody else's."""

    def __init__(
        self, query: Query, joins: str, share: Share | None = None, pool: StringPool | None = None
    ) -> None:
        self.whole = query
        """The query with what is attached to it."""
        self.query = query.core
        self.joins = joins
        self.share = share
        """None: this engine has all rows."""
        self.compiler = Compiler(query.core)
        given = pool if share is None else share.pool
        self.pool = StringPool() if given is None else given
        self.stored = stored_columns(query.core, share is not None and share.pool is not None)

    def parse(self, plan: str | None) -> Any:
        """A plan from its text; one to start with if there is none. Of a set difference it is an order."""
        names = self.query.names
        if self.query.base is not None:
            inner = [minus.stream for minus in self.query.minus]
            if plan is None:
                return Subtractions(self.query.base, tuple(inner))
            return parse_subtractions(plan, self.query.base, inner)
        if plan is None:
            return left_deep(connected_order(names[0], names, self.compiler.connected))
        return parse_plan(plan, names, self.compiler.connected, self.compiler.columns)

    def windows(self) -> tuple[Array, Array, Array]:
        """Kind, parameter and step of each stream's window, as this engine has to see them."""
        kinds, params = self.query.window_table()
        for i, name in enumerate(self.query.names):
            if self.share is not None and name in self.share.given:
                kinds[i] = GIVEN
        return kinds, params, self.query.window_steps()

    def check(self, feedback: Feedback, plan: Any) -> None:
        """Refuse a feedback policy that cannot judge under a plan. (Differences judge nothing.)"""
        if feedback.watches and self.query.base is None:
            from eddy.feedback.wait_graph import check_feedback  # kernels too

            check_feedback(feedback, self.compiler, plan, self.joins == "nested")

    def stream(self, number: int, first_row: int) -> StreamState:
        """An empty stream whose rows begin with this number."""
        query, name = self.query, self.query.names[number]
        types = query.streams[name].columns
        columns = {column: types[column] for column in types if column in self.stored[name]}
        if self.share is not None:
            columns[ROW] = INT64
        elif self.whole.in_order:
            columns[WHEN] = INT64
        classes = tuple(c.index for c in query.key_classes if name in c.members)
        asked = [half for residual in query.residuals for half in residual.halves if self.joins == "hash"]
        payload = Payload(columns, self.pool, first_row)
        return StreamState(number, name, classes, payload, first_row, measures(asked, name))

    def executor(
        self, streams: list[StreamState], feedback: Feedback, plan: Any, fresh: bool = True
    ) -> PlanExecutor:
        """What runs batches over these streams under a plan: a router, or a chain for a set difference.

        Its composites begin empty if it is ``fresh``, as the streams are; otherwise they are holes.
        """
        executor: PlanExecutor
        if self.query.base is not None:
            from eddy.difference.chain import Chain  # its kernels are compiled only where they are needed

            executor = Chain(self.query, self.compiler, streams)
        else:
            executor = self._router(streams)
        executor.attend(feedback)
        executor.install(plan, fresh=fresh)
        return executor

    def _router(self, streams: list[StreamState]) -> Router:
        bounded = [not isinstance(stream.window, Unbounded) for stream in self.query.streams.values()]
        return Router(self.compiler, streams, self.joins == "nested", bounded)

    def attached(self, first_row: int) -> AttachedStreams | None:
        """The streams that are attached, empty; None if there are none."""
        if not self.whole.attachments:
            return None
        from eddy.attachments.streams import AttachedStreams

        return AttachedStreams.of(self.whole, self.pool, stored_columns(self.whole), first_row)

    def output(self, retractions: bool, attached: AttachedStreams | None = None) -> Output:
        """What makes results of what a batch has brought."""
        if attached is not None:
            from eddy.attachments.output import (
                AttachedOutput,
            )  # its kernels are compiled only where they are needed

            return AttachedOutput(self.whole, self.pool, attached, retractions or self.whole.signed)
        if self.query.grouped:
            return GroupedOutput(self.query, self.pool)
        if retractions or self.query.signed:
            return SignedOutput(self.query, self.pool)
        return Output(self.query, self.pool)

    def box(self, plan: Plan, firsts: Sequence[int]) -> BlackBox:
        """A plan as a black box whose streams begin with these rows."""
        streams = [self.stream(number, first) for number, first in enumerate(firsts)]
        executor = self.executor(streams, NoFeedback(), plan)
        executor.counting = True
        return BlackBox(streams, executor, np.array(firsts, np.int64))

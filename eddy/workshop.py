"""What a query is run with: everything that an engine, a black box or a loaded snapshot is put together from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from eddy.box import Box
from eddy.chain_plan import Subtractions, parse_subtractions
from eddy.intake import stored_columns
from eddy.itinerary import Compiler
from eddy.leaf import StreamState
from eddy.lowwater_kernels import GIVEN
from eddy.marks import ROW, Share
from eddy.output import GroupedOutput, Output, SignedOutput
from eddy.payload import Payload
from eddy.plan import Plan, connected_order, left_deep, parse_plan
from eddy.query import Query
from eddy.router import Router
from eddy.strings import StringPool
from eddy.types import INT64, Array
from eddy.windows import Unbounded
from policies import Feedback
from stairs import SortedIndex


class Workshop:
    """Makes the parts that a query needs."""

    def __init__(self, query: Query, joins: str, share: Share | None = None) -> None:
        self.query = query
        self.joins = joins
        self.share = share
        """None: this engine has all rows."""
        self.compiler = Compiler(query)
        self.pool = StringPool() if share is None or share.pool is None else share.pool
        self.stored = stored_columns(query, share is not None and share.pool is not None)

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
        return parse_plan(plan, names, self.compiler.connected)

    def windows(self) -> tuple[Array, Array]:
        """Kind and parameter of each stream's window, as this engine has to see them."""
        kinds, params = self.query.window_table()
        for i, name in enumerate(self.query.names):
            if self.share is not None and name in self.share.given:
                kinds[i] = GIVEN
        return kinds, params

    def check(self, feedback: Feedback, plan: Any) -> None:
        """Refuse a feedback policy that cannot judge under a plan. (Differences judge nothing.)"""
        if feedback.watches and self.query.base is None:
            from eddy.demand import check_feedback  # kernels too

            check_feedback(feedback, self.compiler, plan, self.joins == "nested")

    def stream(self, number: int, first_row: int) -> StreamState:
        """An empty stream whose rows begin with this number."""
        query, name = self.query, self.query.names[number]
        types = query.streams[name].columns
        columns = {column: types[column] for column in types if column in self.stored[name]}
        if self.share is not None:
            columns[ROW] = INT64
        classes = tuple(c.index for c in query.key_classes if name in c.members)
        state = StreamState(number, name, classes, Payload(columns, self.pool, first_row), first_row)
        for residual in query.residuals:
            form = residual.range_for(name) if name in residual.streams and self.joins == "hash" else None
            if form is not None:
                state.indexes[residual] = (form.index, SortedIndex())
        return state

    def router(self, streams: list[StreamState]) -> Any:
        """What runs batches over these streams: a router, or for a set difference a chain, which has the same doors."""
        if self.query.minus:
            from eddy.chain import Chain  # its kernels are compiled only where they are needed

            return Chain(self.query, self.compiler, streams)
        bounded = [not isinstance(stream.window, Unbounded) for stream in self.query.streams.values()]
        return Router(self.compiler, streams, self.joins == "nested", bounded)

    def output(self, retractions: bool) -> Output:
        """What makes results of what a batch has brought."""
        if self.query.aggregates:
            return GroupedOutput(self.query, self.pool)
        if retractions or self.query.minus:
            return SignedOutput(self.query, self.pool)
        return Output(self.query, self.pool)

    def box(self, plan: Plan, firsts: Sequence[int]) -> Box:
        """A plan as a black box whose streams begin with these rows."""
        streams = [self.stream(number, first) for number, first in enumerate(firsts)]
        router = self.router(streams)
        router.install(plan, fresh=True)
        router.counting = True
        return Box(streams, router, np.array(firsts, np.int64))

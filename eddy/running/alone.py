"""The only query of a run: its results go to one sink."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa
from attrs import field, frozen

from eddy.engine.eddy import Eddy
from eddy.query.query import Query
from eddy.running.gathered import RESULTS, Gathered
from eddy.running.several import schema_of
from eddy.sinks.base import Sink


@frozen(eq=False)
class Alone:
    """One query, as a run has it: what `several.Several` is to several."""

    query: Query
    retractions: bool = False
    final: bool = False
    """Whether the groups are written at the end, instead of their changes."""
    counts: dict[str, int] = field(factory=dict)
    """It has no name to be counted by."""

    @property
    def asked(self) -> Query:
        """What a checkpoint is of."""
        return self.query

    @property
    def signed(self) -> bool:
        """Whether results are withdrawn as well as given."""
        return not self.final and (self.retractions or self.query.signed)

    def schemas(self) -> dict[str, pa.Schema]:
        """The columns of the results, by what a sink takes."""
        return {RESULTS: schema_of(self.query, self.signed)}

    def engine(self, options: Mapping[str, Any], saved: str | None = None) -> Eddy:
        """One that runs it; ``saved``: it goes on where the one in a file stood."""
        return Eddy(self.query, **options) if saved is None else Eddy.load(saved, self.query, **options)

    def groups(self, engine: Any) -> Gathered:
        """The groups as they are, to be written."""
        return Gathered({RESULTS: engine.table().to_arrow()}, {})

    def count(self, result: Any) -> None:
        """The results of a push are given."""

    def write(self, result: Any, sinks: Mapping[str, Sink]) -> None:
        """Give them to the sink."""
        if isinstance(result, Gathered):
            for what, table in result.tables.items():
                sinks[what].write(table)
        elif len(result):
            sinks[RESULTS].write(result.to_arrow(sign=self.signed))

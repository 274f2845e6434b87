"""Why some rows gave a result, or why they gave none: the questions, and what is asked to answer them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from attrs import define

from eddy.errors import EddyError
from eddy.inspect.evidence import Evidence
from eddy.inspect.explanation import NOT_ARRIVED, Explanation
from eddy.inspect.history import History, Stretch
from eddy.inspect.lifetime import Lifetimes
from eddy.inspect.trial import Trial
from eddy.query.names import nearest
from eddy.query.query import Query
from eddy.store.row_numbers import RowNumbers
from eddy.store.stream import StoredStream
from policies.options import whole


@define(eq=False)
class Inquiry:
    """Answers questions about one engine as it is now."""

    query: Query
    states: Sequence[StoredStream]
    numbers: RowNumbers
    history: History
    event: int
    """The number of the next event."""
    first_row: int = 0

    def explain(self, given: Mapping[str, Any]) -> Explanation:
        """What became of these rows."""
        rows = self._checked(given)
        lowwater = self.numbers.lowwater
        now = Stretch(self.event, lowwater.counts.tolist(), lowwater.lows.tolist())
        counts = dict(zip(rows, now.counts, strict=True))
        missing = {name: count for name, count in counts.items() if rows[name] >= count}
        if missing:
            return self._not_arrived(rows, missing)
        found = {
            name: self.numbers.find(i, row, self.states[i].payload)
            for i, (name, row) in enumerate(rows.items())
        }
        evidence = Evidence(self.query, self.states, found)
        lives = Lifetimes(self.query, self.history, self.history.first or now, now, evidence)
        return Trial(self.query, self.history, rows, evidence, lives).explanation()

    def _checked(self, given: Mapping[str, Any]) -> dict[str, int]:
        names = self.query.names
        example = ", ".join(f"{name}=0" for name in names)
        for name in given:
            if name not in names:
                raise EddyError(f"the query has no stream {name}: {nearest(name, names)}")
        missing = [name for name in names if name not in given]
        if missing:
            raise EddyError(
                f"a row number of every stream is needed, but there is none of {', '.join(missing)}: "
                f"write {example} with the numbers you mean"
            )
        return {name: self._number(name, given[name]) for name in names}

    def _number(self, name: str, value: Any) -> int:
        rule = whole(self.first_row)
        if not rule.fits(value):
            raise EddyError(
                f"{name}={value!r} is no row number: rows are whole numbers from {self.first_row} on, "
                "counted by stream in the order of arrival"
            )
        return rule.plain(value)

    def _not_arrived(self, rows: dict[str, int], missing: dict[str, int]) -> Explanation:
        parts = []
        for name, count in missing.items():
            have = "has no row yet"
            if count > self.first_row:
                have = f"has rows {self.first_row:,} to {count - 1:,} so far"
            parts.append(f"{name} {rows[name]:,} has not arrived: {name} {have}.")
        if self.query.time_windows:
            parts.append("(A batch that goes back in time is refused, and its rows get no numbers.)")
        return Explanation(NOT_ARRIVED, " ".join(parts), rows, streams=tuple(missing))

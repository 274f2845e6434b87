"""What came of a run, in words."""

from __future__ import annotations

from eddy.running.outcome import Outcome

MOST = 10
"""Queries whose results are counted in words."""


def closing(outcome: Outcome) -> list[str]:
    """The last words of a run."""
    rows = " + ".join(f"{count:,} {name}" for name, count in outcome.rows.items())
    end = {"end": "", "limit": ", as many as were asked for", "stopped": ", stopped before the end"}[
        outcome.ended
    ]
    results = f"{outcome.results:,} {'result' if outcome.results == 1 else 'results'}"
    lines = [f"{results} of {rows} rows in {outcome.seconds:.1f} s{end}"]
    if outcome.counts:
        told = [f"{count:,} {name}" for name, count in list(outcome.counts.items())[:MOST]]
        more = [f"and {len(outcome.counts) - MOST:,} more queries"] if len(outcome.counts) > MOST else []
        lines.append(", ".join(told + more))
    for what, of in (("bad", outcome.bad), ("late", outcome.late)):
        if of:
            lines.append(left_out(sum(of.values()), what))
    return lines + [f"  {letter}" for letter in outcome.letters[:3]]


def left_out(count: int, what: str) -> str:
    """How many bad or late rows there were."""
    return f"{count:,} {what} {'row was' if count == 1 else 'rows were'} left out"

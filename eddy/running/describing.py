"""What came of a run, in words."""

from __future__ import annotations

from eddy.running.outcome import Outcome, Resumed

MOST = 10
"""Queries whose results are counted in words."""


def closing(outcome: Outcome) -> list[str]:
    """The last words of a run."""
    rows = " + ".join(f"{count:,} {name}" for name, count in outcome.rows.items())
    if outcome.ended == "over":
        return [over(outcome)]
    end = {"end": "", "limit": ", as many as were asked for", "stopped": ", stopped before the end"}[
        outcome.ended
    ]
    results = counted(outcome.results)
    if outcome.resumed is not None:
        results += f" ({outcome.results - outcome.resumed.results:,} of them now)"
    lines = [f"{results} of {rows} rows in {outcome.seconds:.1f} s{end}"]
    if outcome.counts:
        told = [f"{count:,} {name}" for name, count in list(outcome.counts.items())[:MOST]]
        more = [f"and {len(outcome.counts) - MOST:,} more queries"] if len(outcome.counts) > MOST else []
        lines.append(", ".join(told + more))
    for what, of in (("bad", outcome.bad), ("late", outcome.late)):
        if of:
            lines.append(left_out(sum(of.values()), what))
    return lines + [f"  {letter}" for letter in outcome.letters[:3]]


def counted(results: int) -> str:
    """How many results there are."""
    return f"{results:,} {'result' if results == 1 else 'results'}"


def going_on(resumed: Resumed) -> str:
    """The first words of a run that goes on from a checkpoint."""
    return f"going on from the checkpoint of {resumed.taken}, {counted(resumed.results)} so far"


def over(outcome: Outcome) -> str:
    """All there is to say where the run of a checkpoint was over."""
    of = outcome.resumed
    told = "" if of is None else f" (checkpoint {of.folder}, of {of.taken})"
    return f"this run was over already: nothing was done{told}. For new rows use --follow, or an empty folder"


def left_out(count: int, what: str) -> str:
    """How many bad or late rows there were."""
    return f"{count:,} {what} {'row was' if count == 1 else 'rows were'} left out"

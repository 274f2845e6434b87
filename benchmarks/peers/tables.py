"""The tables of `make peers` in docs/benchmarks.md, and the short one in README.md, made of all records."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from benchmarks.papers.record import RESULTS, Record, read
from benchmarks.peers.contenders import BY_NAME, CONTENDERS, Contender
from benchmarks.peers.measure import PROFILE, code_of
from benchmarks.peers.workloads import WORKLOADS
from benchmarks.stamp import ROOT, digest

PAGE, FRONT = ROOT / "docs" / "benchmarks.md", ROOT / "README.md"
BEGIN = "<!-- {}: written by python -m benchmarks.peers --tables -->"
END = "<!-- end of {} -->"
SHORT = {
    "Flink": ("flink", "flink-multi"),
    "Spark Structured Streaming": ("spark",),
    "Pathway": ("pathway", "pathway-static"),
    "Bytewax": ("bytewax",),
    "DuckDB, batch, 1 thread": ("duckdb", "duckdb-buckets"),
    "Polars, batch, 1 thread": ("polars", "polars-buckets"),
    "C++ by hand, one fixed plan": ("cpp",),
}
"""Who is in the table of the front page; of several ways that a contender has, the fastest counts."""
FRONT_WORKLOADS = ("three", "ten", "chain", "star", "nexmark3", "nexmark8", "nexmark20")
WORDS = {"unable": "none", "wrong": "wrong", "failed": "failed"}
"""What stands in place of a ratio."""
LEGEND = (
    "†: ended before it had finished, so at least that many times; its results are not known. ‡: the first run took",
    "more than a minute and is the only one: the JVM, if there is one, was cold, and Flink and Spark wrote their",
    "results to files. °: older than the code. -: not measured.",
    "Words in place of a number:",
)
TOLD = ("settings", "data", "results")
Records = Mapping[str, Mapping[str, Record]]


def records(folder: Path = RESULTS) -> Records:
    """What was measured, by workload and contender."""
    return {workload.name: read(workload.name, PROFILE, folder) for workload in WORKLOADS}


def page(found: Records) -> list[str]:
    """All that is known, misses like hits."""
    kept = [contender for contender in CONTENDERS if any(contender.name in rows for rows in found.values())]
    titles = {workload.name: workload.title for workload in WORKLOADS if found[workload.name]}
    if not kept:
        return ["Nothing has been measured yet."]
    lines = ["How many times as fast as each of them Eddy is; a number below 1 says that Eddy is slower:", ""]
    lines += _table(("", *titles.values()), ([c.title, *(_ratio(found, w, c) for w in titles)] for c in kept))
    lines += ["", *LEGEND, ""]
    lines += _notes(found, kept, titles)
    lines += [
        "",
        "Against the goals; of a contender that was ended before it had finished, no results were compared:",
        "",
    ]
    head = ("goal", "at least", "least measured", "where", "reached in", "ended before")
    lines += _table(head, _goals(found, kept, titles))
    lines += _missing(found, kept, titles)
    lines += [
        "",
        "Thousand events for a second of processor time, and the peak of resident memory in MB:",
        "",
    ]
    rates = [["Eddy", *(_ours(found, workload) for workload in titles)]]
    rates += [[c.title, *(_rate(found, w, c) for w in titles)] for c in kept]
    lines += _table(("", *titles.values()), rates)
    lines += ["", *_bandwidth(found), "", "Versions and settings:", ""]
    for runner in dict.fromkeys(contender.runner for contender in kept):
        lines += _facts(found, [contender for contender in kept if contender.runner == runner])
    lines += ["", *_stamps(found, titles)]
    return lines


def front(found: Records) -> list[str]:
    """The short table: ratios of some contenders on some workloads."""
    titles = {workload.name: workload.title for workload in WORKLOADS if workload.name in FRONT_WORKLOADS}
    rows = []
    for title, names in SHORT.items():
        cells = [_best(found[workload], names) for workload in titles]
        if any(cells):
            rows.append([title, *cells])
    if not rows:
        return ["Nothing has been measured yet."]
    lines = _table(("Eddy's speed as a multiple of", *titles.values()), rows)
    old = any(_old(found[workload]) for workload in titles)
    return (
        [*lines, "", "Some of these figures are older than the code; that page says which."] if old else lines
    )


def _best(rows: Mapping[str, Record], names: Iterable[str]) -> str:
    """The ratio to the fastest of some contenders."""
    known = [row for name in names if name in rows for row in rows[name].rows if "ratio" in row]
    timed = [row["ratio"] for row in known if row["status"] == "timed"]
    if timed:
        return _number(min(timed))
    return f"over {_number(min(row['ratio'] for row in known))}" if known else ""


def write() -> None:
    """Put both tables into their pages."""
    found = records()
    for path, name, lines in ((PAGE, "peers", page(found)), (FRONT, "peers in short", front(found))):
        path.write_text(inserted(path.read_text(encoding="utf-8"), name, lines), encoding="utf-8")


def inserted(text: str, name: str, lines: Iterable[str]) -> str:
    """The text with these lines between the marks of a table."""
    begin, end = BEGIN.format(name), END.format(name)
    assert text.count(begin) == text.count(end) == 1, f"there is no place for the table {name}"
    made = "\n".join((begin, *lines, end))
    return re.sub(f"{re.escape(begin)}.*?{re.escape(end)}", lambda _: made, text, flags=re.S)


def _rows(rows: Mapping[str, Record], contender: Contender) -> list[Mapping[str, Any]]:
    return list(rows[contender.name].rows) if contender.name in rows else []


def _ratio(found: Records, workload: str, contender: Contender) -> str:
    for row in _rows(found[workload], contender):
        old = "°" if _stale(found[workload], contender.name) else ""
        if row["status"] == "timed":
            return _number(row["ratio"]) + old + (" ‡" if row["seconds"] == row.get("first") else "")
        if row["status"] == "ended":
            return f"{_number(row['ratio'])}{old} †"
        return WORDS[row["status"]]
    return ""


def _rate(found: Records, workload: str, contender: Contender) -> str:
    for row in _rows(found[workload], contender):
        if row["status"] == "timed":
            return f"{_number(row['events'] / row['processor'] / 1e3)}, {row['peak'] / 2**20:,.0f}"
    return ""


def _ours(found: Records, workload: str) -> str:
    """Eddy with one thread: the median of what it had beside the others."""
    rows = [row for record in found[workload].values() for row in record.rows if row["status"] == "timed"]
    rows = sorted((row for row in rows if row["against"] == "Eddy"), key=lambda row: row["eddy processor"])
    if not rows:
        return ""
    middle = rows[len(rows) // 2]
    return f"{_number(middle['events'] / middle['eddy processor'] / 1e3)}, {middle['eddy peak'] / 2**20:,.0f}"


def _goals(found: Records, kept: list[Contender], titles: Mapping[str, str]) -> Iterable[list[str]]:
    for contender in kept:
        bounds: dict[float, list[tuple[float, str, bool]]] = {}
        for workload in titles:
            for row in _rows(found[workload], contender):
                if row.get("ratio") is not None and row["goal"] is not None:
                    whole = row["status"] == "timed"
                    bounds.setdefault(row["goal"], []).append((row["ratio"], titles[workload], whole))
        for goal, ratios in sorted(bounds.items(), reverse=True):
            timed = [(ratio, where) for ratio, where, whole in ratios if whole]
            ended = [ratio for ratio, _, whole in ratios if not whole]
            least, where = min(timed) if timed else (0.0, "")
            reached = sum(ratio >= goal for ratio, _ in timed)
            said = f"{reached} of {len(timed)}" if timed else ""
            said = said if reached == len(timed) else f"**{said}**"
            low = f"{len(ended)}, at {min(ended):,.3g} times or more" if ended else ""
            measured = f"{least:,.3g} times" if timed else ""
            yield [contender.title, f"{goal:g} times", measured, where, said, low]


def _missing(found: Records, kept: list[Contender], titles: Mapping[str, str]) -> list[str]:
    """Where the goals were not put to the test; those of the same places together."""
    places: dict[str, list[str]] = {}
    for contender in kept:
        where = [title for workload, title in titles.items() if not _rows(found[workload], contender)]
        if where:
            places.setdefault("; ".join(where), []).append(contender.title)
    if not places:
        return []
    lines = [f"- {'; '.join(who)}: {where}." for where, who in places.items()]
    return ["", "These were not measured, so nothing is known of the goals there:", "", *lines]


def _facts(found: Records, ways: list[Contender]) -> list[str]:
    """The version and the settings of a contender, as in the first run of the first way that it has."""
    for contender in ways:
        for rows in found.values():
            for row in _rows(rows, contender):
                if "facts" in row:
                    facts = row["facts"]
                    told = "; ".join(f"{key}: {facts[key]}" for key in TOLD if key in facts)
                    return [f"- {contender.title}: version {facts['version']}; {told}."]
    return []


def _notes(found: Records, kept: list[Contender], titles: Mapping[str, str]) -> list[str]:
    """Of each that was not timed, why; those of the same reason together."""
    reasons: dict[tuple[str, str], dict[str, list[str]]] = {}
    for contender in kept:
        for workload in titles:
            for row in _rows(found[workload], contender):
                if row["status"] in WORDS:
                    why, _, numbers = row["why"].partition(": ")
                    where = titles[workload] + (f": {numbers}" if numbers else "")
                    places = reasons.setdefault((WORDS[row["status"]], why), {})
                    places.setdefault(contender.title, []).append(where)
    lines = []
    for (word, why), places in reasons.items():
        together: dict[str, list[str]] = {}
        for title, where in places.items():
            together.setdefault("; ".join(where), []).append(title)
        lines += [f"- {word}: {why}. {', '.join(who)}: {where}." for where, who in together.items()]
    return lines


def _bandwidth(found: Records) -> list[str]:
    """What the memory of the machine gives."""
    key = "gigabytes a second of one core"
    rates = [
        row["facts"][key]
        for rows in found.values()
        for record in rows.values()
        for row in record.rows
        if key in row.get("facts", {})
    ]
    if not rates:
        return []
    return [
        f"One core read and wrote {min(rates):.1f} to {max(rates):.1f} GB a second in these runs, by adding two arrays "
        "that no cache holds into a third."
    ]


def _stamps(found: Records, titles: Mapping[str, str]) -> list[str]:
    """Where the figures are from: a line for each workload."""
    lines = ["Runs:", ""]
    for workload, title in titles.items():
        stamps = [record.stamp for record in found[workload].values()]
        commits = ", ".join(sorted({stamp.commit for stamp in stamps}))
        loads = [value for stamp in stamps for value in stamp.load]
        dates = sorted(stamp.date for stamp in stamps)
        lines.append(
            f"- {title}: {dates[0]} to {dates[-1]}, commit {commits}, {stamps[0].machine}, load "
            f"{min(loads):.1f} to {max(loads):.1f}, seed {stamps[0].seed}." + _how_old(found[workload])
        )
    return lines


def _how_old(rows: Mapping[str, Record]) -> str:
    old = sum(_stale(rows, name) for name in rows)
    return f" **Stale**: the code has changed since in {old} of {len(rows)}." if old else ""


def _old(rows: Mapping[str, Record]) -> bool:
    return any(_stale(rows, name) for name in rows)


def _stale(rows: Mapping[str, Record], name: str) -> bool:
    """Whether the code has changed since a contender was measured."""
    return name in BY_NAME and rows[name].stamp.code != digest(code_of(BY_NAME[name]))


def _table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> list[str]:
    head = list(head)
    lines = ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    return lines + ["| " + " | ".join(cell or "-" for cell in row) + " |" for row in rows]


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.2g}" if value < 10 else f"{value:.0f}"

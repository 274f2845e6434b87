"""The pictures of the README and the docs: `python -m benchmarks.pictures [--write] [--quick] [--only drift|page]`.

*drift*: rows a second through a feed that drifts, under the plan that is best at its beginning and stays, and under
`policies.Auto`; the two take batches in turns, by the processor's time of their thread, and find as many results; the
median of some rounds. *page*: the live page of an engine over such a feed, as a browser shows it.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from attrs import asdict, evolve

from benchmarks.chart import RESULTS
from benchmarks.drift import timed
from benchmarks.drift_workloads import Drift, chain
from benchmarks.goals import ENGINE
from benchmarks.stamp import ROOT, load, stamp
from eddy import Eddy
from policies import Auto

PICTURES = ROOT / "docs" / "pictures"
MEASURES = (*ENGINE, "eddy/steering", "policies/optimizer", "policies/routing")
EVENTS, ROUNDS, BUCKET, SIZE = 400_000, 5, 8, 4096
FIXED, ADAPTIVE = "#b3362b", "#2563a8"


def best_at_first(drift: Drift) -> str:
    """The plan that an optimiser chooses which has seen the first phase only."""
    engine = Eddy(drift.query(), routing=Auto())
    for _, batch in evolve(drift, phases=drift.phases[:1]).feed(EVENTS):
        engine.push_all(batch)
    return engine.plan


def race(drift: Drift, events: int, rounds: int) -> dict[str, Any]:
    """Rows a second of both, bucket by bucket, and where the plan was changed."""
    plan, times = best_at_first(drift), {"fixed": [], "eddy": []}  # type: ignore[var-annotated]
    rows: list[int] = []
    changes: list[int] = []
    for turn in range(rounds):
        sides = {"fixed": Eddy(drift.query(), plan), "eddy": Eddy(drift.query(), plan, routing=Auto())}
        spent: dict[str, list[float]] = {name: [] for name in sides}
        count = 0
        for number, (_, batch) in enumerate(drift.feed(events, SIZE)):
            found = {}
            for name in sorted(sides, reverse=bool((number + turn) % 2)):
                seconds, found[name] = timed(sides[name], batch)
                if number % BUCKET == 0:
                    spent[name].append(0.0)
                spent[name][-1] += seconds
            assert found["fixed"] == found["eddy"]
            count += SIZE
            if not turn and number % BUCKET == BUCKET - 1:
                rows.append(count)
        for name in sides:
            times[name].append(spent[name])
        changes = [d.events for d in sides["eddy"].decisions if d.outcome == "changed"]
    rates = {
        name: [BUCKET * SIZE / statistics.median(each) for each in zip(*found, strict=True)]
        for name, found in times.items()
    }
    whole = {name: statistics.median(sum(each) for each in found) for name, found in times.items()}
    return {
        "plan": plan,
        "rows": rows,
        **{name: rate[: len(rows)] for name, rate in rates.items()},
        "changes": changes,
        "phases": [events // SIZE * SIZE * (i + 1) for i in range(len(drift.phases) - 1)],
        "times": whole["fixed"] / whole["eddy"],
    }


def draw(found: dict[str, Any], path: Path) -> None:
    """The chart, as SVG."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    settings = {"svg.hashsalt": "drift", "svg.fonttype": "none", "font.size": 10}
    with matplotlib.rc_context({**settings, "axes.spines.top": False, "axes.spines.right": False}):
        picture, axes = plt.subplots(figsize=(8.4, 3.4))
        at = [rows / 1e6 for rows in found["rows"]]
        axes.plot(at, [r / 1e6 for r in found["fixed"]], color=FIXED, label=f"fixed plan {found['plan']}")
        axes.plot(at, [r / 1e6 for r in found["eddy"]], color=ADAPTIVE, label="Eddy, from the same plan")
        for i, change in enumerate(found["changes"]):
            axes.axvline(
                change / 1e6, color=ADAPTIVE, ls=":", lw=1, label="it changes the plan" if not i else None
            )
        for phase in found["phases"]:
            axes.axvspan(phase / 1e6 - 0.002, phase / 1e6 + 0.002, color="#999999", alpha=0.7)
        axes.set_xlabel("million rows; grey: the data change")
        axes.set_ylabel("million rows a second")
        axes.set_ylim(bottom=0)
        axes.legend(frameon=False, loc="upper center", bbox_to_anchor=(0.5, 1.18), ncols=3)
        picture.savefig(path, metadata={"Date": None}, bbox_inches="tight")
        plt.close(picture)


def photograph(events: int, path: Path) -> None:
    """The page of an engine over a drifting feed, as Chromium shows it."""
    from tests.page.browser import browser

    drift = chain()
    engine = Eddy(drift.query(), routing=Auto(shape="bushy"))
    with engine.watch() as page:
        page.recorder.title = "Four streams, drifting"
        for _, batch in drift.feed(events, SIZE):
            engine.push_all(batch)
            page.recorder.read()
            time.sleep(0.01)
        report = page.report(path.with_suffix(".html"))
        with tempfile.TemporaryDirectory() as profile, browser(profile, 1280, 1330) as chrome:
            chrome.get(f"file://{report}")
            chrome.find_elements("css selector", "#changes button")[0].click()
            end = chrome.execute_script(
                "return document.getElementById('time').getBoundingClientRect().bottom"
            )
            size = {"width": 1280, "height": int(end) + 12, "deviceScaleFactor": 1, "mobile": False}
            chrome.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
            time.sleep(1.5)
            chrome.save_screenshot(str(path))
        Path(report).unlink()


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser("benchmarks.pictures", description=__doc__)
    parser.add_argument("--write", action="store_true", help="into docs/pictures")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", choices=("drift", "page"))
    given = parser.parse_args(arguments)
    folder = PICTURES if given.write else Path(tempfile.mkdtemp())
    folder.mkdir(parents=True, exist_ok=True)
    events, rounds = (EVENTS // 4, 1) if given.quick else (EVENTS, ROUNDS)
    if given.only != "page":
        before = load()
        found = race(chain(), events, rounds)
        made = stamp(MEASURES, 0, "python -m benchmarks.pictures --write --only drift", before)
        if given.write:
            RESULTS.write_text(
                json.dumps({**found, "measures": MEASURES, "stamp": asdict(made)}, indent=1) + "\n"
            )
        draw(found, folder / "drift.svg")
        print(
            f"{found['times']:.2f} times as fast as {found['plan']} over the whole feed; {folder / 'drift.svg'}"
        )
    if given.only != "drift":
        if shutil.which("chromium") is None:
            print("the page needs a browser: apt-get install chromium chromium-driver", file=sys.stderr)
            return 1
        photograph(events, folder / "page.png")
        print(folder / "page.png")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

"""Figures as pictures, SVG and PNG: our points as lines, those that a paper prints dashed beside them, and its claims
below with what was measured."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.papers.figure import Chart, Figure, Row, chosen

COLOURS = ("#1f5fa8", "#d1495b", "#2e8b57", "#b07d12", "#6f4ba0", "#3a3a3a", "#0f8a8a", "#c2589b", "#7a8b2f")
MARKS = "osD^vP*Xh"
WIDE = 4.6
"""Inches of one chart."""
CROWD = 6
"""Groups of bars whose names fit below them side by side."""
MARKED = 25
"""Points that are marked, and told apart on the axis if they are far enough from each other."""
APART = 0.07
"""Of the width of an axis: how far its numbers are apart at the least."""
AXES = {"n": "streams", "w": "window, minutes", "rate": "rows a second"}
"""What columns with short names are called on an axis."""
LINE = 0.145
"""Inches of a line of text below the charts."""


def draw(figure: Figure, rows: Sequence[Row], folder: Path, note: str = "") -> list[Path]:
    """Write the picture of a figure; returns the files. ``note`` stands below: which profile, and if it is stale."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    settings = {
        "svg.hashsalt": figure.name,
        "svg.fonttype": "none",
        "font.size": 8.5,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.grid": True,
        "grid.color": "#e4e4e4",
        "axes.axisbelow": True,
        "legend.frameon": False,
    }
    charts = [chart for chart in figure.charts if _shown(chart, rows)]
    if not charts:
        return []
    across = 2 if len(charts) == 4 else min(3, len(charts))
    down = -(-len(charts) // across)
    crowded = any(chart.kind == "bar" and _places(chart, rows) > CROWD for chart in charts)
    wide = (11.0 if crowded else 6.2) if across == 1 else WIDE * across
    title = textwrap.fill(f"{figure.paper}, {figure.label}: {figure.title}", round(11 * wide))
    width = round(17.5 * wide)
    below = "\n".join(_claims(figure, rows, width) + textwrap.wrap(note, width))
    with matplotlib.rc_context(settings):
        picture, axes = plt.subplots(
            down,
            across,
            figsize=(wide, 3.3 * down + (2.4 if crowded else 0.4) + LINE * below.count("\n")),
            squeeze=False,
            layout="constrained",
        )
        for ax, chart in zip(axes.flat, charts, strict=False):
            _chart(ax, chart, rows)
        for ax in list(axes.flat)[len(charts) :]:
            ax.remove()
        picture.suptitle(title, fontsize=10, fontweight="bold")
        picture.supxlabel(below, x=0.01, horizontalalignment="left", fontsize=7, color="#444444")
        folder.mkdir(parents=True, exist_ok=True)
        files = [folder / f"{figure.name}.svg", folder / f"{figure.name}.png"]
        picture.savefig(files[0], metadata={"Date": None})
        picture.savefig(files[1], dpi=110, metadata={"Software": None})
        plt.close(picture)
    return files


def _claims(figure: Figure, rows: Sequence[Row], width: int) -> list[str]:
    """What the paper says, and what was measured, in lines of so many characters."""
    lines = []
    for claim in figure.claims:
        verdict = claim.judge(rows)
        if verdict is not None:
            word = "agrees" if verdict.agrees else "does not agree"
            told = f"{claim.text} - {word}: {verdict.measured}".replace("`", "").replace("$", r"\$")
            lines += textwrap.wrap(told, width, subsequent_indent="      ")
    return lines


def _places(chart: Chart, rows: Iterable[Row]) -> int:
    return len({row[chart.x] for row in _shown(chart, rows)})


def _shown(chart: Chart, rows: Iterable[Row]) -> list[Row]:
    return [row for row in chosen(rows, **chart.where) if isinstance(row.get(chart.y), (int, float))]


def _series(chart: Chart, rows: Iterable[Row]) -> dict[str, list[Row]]:
    """The points of each line, in the order in which the lines come first; points that are given several times are
    one, their median."""
    lines: dict[str, list[Row]] = {}
    for row in rows:
        lines.setdefault(str(row.get(chart.by, "")), []).append(row)
    return lines


def _chart(ax: Any, chart: Chart, rows: Sequence[Row]) -> None:
    ours, theirs = _series(chart, _shown(chart, rows)), _series(chart, chart.paper)
    names = list(dict.fromkeys((*ours, *theirs)))
    colours = {name: COLOURS[i % len(COLOURS)] for i, name in enumerate(names)}
    if chart.kind == "bar":
        _bars(ax, chart, ours, theirs, colours)
    else:
        for i, (name, points) in enumerate(ours.items()):
            x, y = _points(chart, points)
            few = len(x) <= MARKED
            style: dict[str, Any] = {"drawstyle": "steps-post"} if chart.kind == "step" else {}
            # Where lines hide each other, what lies below shows at both sides.
            style |= {"marker": MARKS[i % len(MARKS)], "markersize": 4} if few else {}
            wide = 1.4 if few else max(1.0, 2.2 - 0.6 * i)
            ax.plot(x, y, color=colours[name], label=name, linewidth=wide, **style)
        for name, points in theirs.items():
            x, y = _points(chart, points)
            label = f"{name}, in the paper".lstrip(", ")
            ax.plot(x, y, color=colours[name], label=label, linestyle="--", linewidth=1.1, alpha=0.75)
    if "x" in chart.log:
        ax.set_xscale("log")
    if "y" in chart.log:
        ax.set_yscale("log")
    elif all(value >= 0 for points in ours.values() for value in _points(chart, points)[1]):
        ax.set_ylim(bottom=0)
    if chart.kind != "bar":
        _numbers(ax, chart, [*ours.values(), *theirs.values()])
    _plain(ax.yaxis, "y" in chart.log)
    ax.set_xlabel(AXES.get(chart.x, chart.x))
    ax.set_ylabel(chart.where.get("measure", chart.y))
    ax.set_title(chart.title or ", ".join(str(value) for value in chart.where.values()), fontsize=9)
    if names != [""] or theirs:
        ax.legend(fontsize=7, ncols=2 if chart.kind == "bar" else 1)


def _numbers(ax: Any, chart: Chart, lines: Sequence[Sequence[Row]]) -> None:
    """Put numbers on the axis where the points are, if these are few; leave out what would be too near."""
    places = sorted({x for points in lines for x in _points(chart, points)[0]})
    if not 1 < len(places) <= MARKED:
        _plain(ax.xaxis, "x" in chart.log)
        return
    at = [math.log(x) for x in places] if "x" in chart.log else [float(x) for x in places]
    near, shown = APART * (at[-1] - at[0]), [len(at) - 1]
    for i in range(len(at) - 2, -1, -1):
        if at[shown[-1]] - at[i] >= near:
            shown.append(i)
    ax.set_xticks([places[i] for i in shown], [_number(places[i], 0) for i in shown])
    ax.set_xticks([], minor=True)


def _plain(axis: Any, log: bool) -> None:
    """Numbers as they are said, and where an axis is short some between powers of ten."""
    from matplotlib import ticker

    if log:
        low, high = sorted(axis.get_view_interval())
        between = (1, 2, 3, 5, 7) if high < 8 * low else (1, 2, 5) if high < 150 * low else (1,)
        axis.set_major_locator(ticker.LogLocator(subs=between))
        axis.set_minor_formatter(ticker.NullFormatter())
    axis.set_major_formatter(ticker.FuncFormatter(_number))


def _number(value: float, _: object) -> str:
    return f"{value / 1e6:,g} M" if abs(value) >= 1e6 else f"{round(value, 9):,g}"


def _points(chart: Chart, rows: Iterable[Row]) -> tuple[list[Any], list[float]]:
    at: dict[Any, list[float]] = {}
    for row in rows:
        at.setdefault(row[chart.x], []).append(float(row[chart.y]))
    middles = {x: sorted(values)[len(values) // 2] for x, values in at.items()}
    if all(isinstance(x, (int, float)) for x in middles):
        middles = dict(sorted(middles.items()))
    return list(middles), list(middles.values())


def _bars(
    ax: Any,
    chart: Chart,
    ours: Mapping[str, Sequence[Row]],
    theirs: Mapping[str, Sequence[Row]],
    colours: Mapping[str, str],
) -> None:
    sides = [(name, points, False) for name, points in ours.items() if any(_points(chart, points)[1])]
    sides += [(name, points, True) for name, points in theirs.items()]
    places = list(dict.fromkeys(x for _, points, _ in sides for x in _points(chart, points)[0]))
    if all(isinstance(x, (int, float)) for x in places):
        places.sort()
    width = 0.8 / len(sides)
    for i, (name, points, printed) in enumerate(sides):
        x, y = _points(chart, points)
        at = [places.index(value) + (i - (len(sides) - 1) / 2) * width for value in x]
        label = f"{name}, in the paper".lstrip(", ") if printed else name
        hatch = {"hatch": "////", "fill": False, "edgecolor": colours[name]} if printed else {}
        ax.bar(at, y, width * 0.92, color=None if printed else colours[name], label=label, **hatch)
    ax.margins(y=0.1 + 0.09 * -(-len(sides) // 2))  # room for the legend, in two columns
    names = [_number(place, 0) if isinstance(place, (int, float)) else str(place) for place in places]
    turned = max(map(len, names)) * len(names) > 60
    ax.set_xticks(range(len(places)), names)
    if turned:
        ax.tick_params(axis="x", labelrotation=60, labelsize=6.5)
        for label in ax.get_xticklabels():
            label.set_horizontalalignment("right")
            label.set_rotation_mode("anchor")
    ax.grid(visible=False, axis="x")

"""Figures as pictures, SVG and PNG: our points as lines, those that a paper prints dashed beside them."""

from __future__ import annotations

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
    with matplotlib.rc_context(settings):
        picture, axes = plt.subplots(
            down,
            across,
            figsize=(wide, 3.3 * down + (2.4 if crowded else 0.4)),
            squeeze=False,
            layout="constrained",
        )
        for ax, chart in zip(axes.flat, charts, strict=False):
            _chart(ax, chart, rows)
        for ax in list(axes.flat)[len(charts) :]:
            ax.remove()
        picture.suptitle(title, fontsize=10, fontweight="bold")
        if note:
            picture.supxlabel(note, fontsize=7, color="#666666")
        folder.mkdir(parents=True, exist_ok=True)
        files = [folder / f"{figure.name}.svg", folder / f"{figure.name}.png"]
        picture.savefig(files[0], metadata={"Date": None})
        picture.savefig(files[1], dpi=110, metadata={"Software": None})
        plt.close(picture)
    return files


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
            marker = MARKS[i % len(MARKS)] if len(x) <= 25 else ""
            style = {"drawstyle": "steps-post"} if chart.kind == "step" else {}
            ax.plot(
                x, y, color=colours[name], label=name, marker=marker, markersize=4, linewidth=1.4, **style
            )
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
    ax.set_xlabel(chart.x)
    ax.set_ylabel(chart.y)
    ax.set_title(chart.title or ", ".join(str(value) for value in chart.where.values()), fontsize=9)
    if names != [""] or theirs:
        ax.legend(fontsize=7, ncols=2 if chart.kind == "bar" else 1)


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
    sides = [(name, points, False) for name, points in ours.items()]
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
    names = [str(place) for place in places]
    turned = max(map(len, names)) * len(names) > 60
    ax.set_xticks(range(len(places)), names)
    if turned:
        ax.tick_params(axis="x", labelrotation=60, labelsize=6.5)
        for label in ax.get_xticklabels():
            label.set_horizontalalignment("right")
            label.set_rotation_mode("anchor")
    ax.grid(visible=False, axis="x")

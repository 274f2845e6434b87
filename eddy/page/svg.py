"""A plan drawn as SVG, for notebooks and documents: results at the top, and below each box what flows into it."""

from __future__ import annotations

from html import escape

from eddy.engine.eddy import Eddy
from eddy.page.picture import Node, Picture, picture_of

WIDE, HIGH, BESIDE, BETWEEN, EDGE = 132, 44, 18, 40, 8


class Svg(str):
    """A picture as SVG. A notebook shows it as one; to all others it is the text of it."""

    __slots__ = ()

    def _repr_svg_(self) -> str:
        return str(self)


def plan_svg(engine: Eddy) -> Svg:
    """The plan that an engine runs, as SVG: boxes for streams and what is kept of their joins, lines for what flows."""
    return drawn(picture_of(engine, engine.statistics()), engine.plan)


def drawn(picture: Picture, plan: str) -> Svg:
    """A picture as SVG. Each node lies below all that it flows into."""
    levels = _levels(picture)
    rows: list[list[Node]] = [[] for _ in range(max(levels.values()) + 1)]
    for node in picture.nodes.values():
        rows[levels[node.id]].append(node)
    width = max(len(row) for row in rows) * (WIDE + BESIDE) - BESIDE + 2 * EDGE
    height = len(rows) * (HIGH + BETWEEN) - BETWEEN + 2 * EDGE
    places = _places(picture, rows, width)
    lines = [_line(places[a.source], places[a.target], a.rows) for a in picture.arrows.values()]
    boxes = [_box(node, *places[node.id]) for node in picture.nodes.values()]
    return Svg(
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        f'role="img" font-family="sans-serif" text-anchor="middle"><title>{escape(plan)}</title>'
        f"{''.join(lines)}{''.join(boxes)}</svg>"
    )


def _levels(picture: Picture) -> dict[str, int]:
    """How far down each node lies: one below the lowest of those that it flows into."""
    levels = dict.fromkeys(picture.nodes, 0)
    for _ in picture.nodes:
        for arrow in picture.arrows.values():
            levels[arrow.source] = max(levels[arrow.source], levels[arrow.target] + 1)
    return levels


def _places(picture: Picture, rows: list[list[Node]], width: int) -> dict[str, tuple[float, float]]:
    """The middle of each box; in a row they stand in the order of what they flow into."""
    places: dict[str, tuple[float, float]] = {}
    for level, row in enumerate(rows):
        row.sort(key=lambda node: _middle(picture, node, places))
        step = width / len(row)
        for i, node in enumerate(row):
            places[node.id] = step * (i + 0.5), EDGE + HIGH / 2 + level * (HIGH + BETWEEN)
    return places


def _middle(picture: Picture, node: Node, places: dict[str, tuple[float, float]]) -> float:
    above = [places[a.target][0] for a in picture.arrows.values() if a.source == node.id]
    return sum(above) / len(above) if above else 0.0


def _line(start: tuple[float, float], end: tuple[float, float], rows: int) -> str:
    thick = 1 + min(5.0, len(str(rows)) - 1.0) if rows else 1
    return (
        f'<line x1="{start[0]:.1f}" y1="{start[1] - HIGH / 2:.1f}" x2="{end[0]:.1f}" y2="{end[1] + HIGH / 2:.1f}" '
        f'stroke="#7d93ab" stroke-width="{thick:g}"/>'
    )


def _box(node: Node, x: float, y: float) -> str:
    edge = {"stream": "#2563a8", "results": "#2f7d4f"}.get(node.kind, "#5b6670")
    dashes = "" if node.kept else ' stroke-dasharray="4 3"'
    what = "" if node.kind == "results" else f"{node.live:,} live" if node.kept else "not kept"
    if node.holes:
        what += f", {node.holes:,} hole{'' if node.holes == 1 else 's'}"
    return (
        f'<rect x="{x - WIDE / 2:.1f}" y="{y - HIGH / 2:.1f}" width="{WIDE}" height="{HIGH}" '
        f'rx="{14 if node.kind == "stream" else 6}" fill="#eef2f6" stroke="{edge}"{dashes}/>'
        f'<text x="{x:.1f}" y="{y - 2:.1f}" font-size="13" fill="#1d2329">{escape(_short(node.label, 18))}</text>'
        f'<text x="{x:.1f}" y="{y + 14:.1f}" font-size="11" fill="#5b6670">{escape(what)}</text>'
    )


def _short(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"

"""How the page looks: boxes that move, text that can be read on a telephone, in the dark, and on a hot box."""

from __future__ import annotations

import itertools

import pytest

from eddy.page.html import write
from tests.page.browser import browser, console
from tests.page.pages import engine, push, text, wait

CONTRAST = """
const paint = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
const light = (color) => {  // as it is painted, whatever the notation
  paint.clearRect(0, 0, 1, 1); paint.fillStyle = color; paint.fillRect(0, 0, 1, 1);
  const [r, g, b] = [...paint.getImageData(0, 0, 1, 1).data].map((v) => v / 255)
    .map((v) => (v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
};
const contrast = (one, other) => {
  const [a, b] = [light(one), light(other)].sort((x, y) => y - x);
  return (a + 0.05) / (b + 0.05);
};
"""
BOXES = """
return [...document.querySelectorAll("#picture .node")].flatMap((box) => [0, 30, 60, 100].flatMap((heat) => {
  box.style.setProperty("--heat", `${heat}%`);
  const back = getComputedStyle(box.querySelector("rect")).fill;
  return [...box.querySelectorAll("text")].map((one) => contrast(getComputedStyle(one).fill, back));
}));
"""
WORDS = """
const behind = (of) => {
  for (let at = of; at; at = at.parentElement) {
    const back = getComputedStyle(at).backgroundColor;
    if (back !== "rgba(0, 0, 0, 0)") return back;
  }
};
const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT), found = [];
for (let at = walk.nextNode(); at; at = walk.nextNode()) {
  const of = at.parentElement;
  if (!at.textContent.trim() || of.closest("svg, script, .skip, .unseen") || !of.offsetParent) continue;
  found.push([contrast(getComputedStyle(of).color, behind(of)), at.textContent.trim()]);
}
return found;
"""


def screen(chrome, width):
    """Make the screen so wide; as a telephone's, where it is narrow."""
    size = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500}
    chrome.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)


def changed(path):
    """The report of an engine of four streams whose plan was changed."""
    made = engine("ABCD", "((A B) C) D")
    push(made)
    with made.watch() as page:
        made.migrate("A (B (C D))")
        push(made, 10, 500)
        return page.report(path)


def test_boxes_move_to_their_places_when_the_plan_changes(chrome):
    """Those that stay are not taken out of the picture, which would end what moves; others come and go."""
    chrome.execute_cdp_cmd(
        "Emulation.setEmulatedMedia",
        {"features": [{"name": "prefers-reduced-motion", "value": "no-preference"}]},
    )
    made = engine("ABCD", "((A B) C) D")
    push(made)
    with made.watch() as page:
        chrome.get(page.url)
        wait(lambda: "((A B) C) D" in text(chrome, "plan-text"), "the plan is not shown")
        hint = chrome.find_element("css selector", "#time .hint")
        assert not hint.is_displayed()  # there is no change to click at
        chrome.execute_script("""
            window.moved = [];
            document.addEventListener("transitionrun", (event) => {
              if (event.propertyName === "transform") window.moved.push(event.target.querySelector("text").textContent);
            });""")
        made.migrate("A (B (C D))")
        wait(lambda: "A (B (C D))" in text(chrome, "plan-text"), "the new plan does not come")
        wait(lambda: chrome.execute_script("return window.moved.length"), "nothing moves")
        assert hint.is_displayed()
    assert set(chrome.execute_script("return window.moved")) <= {"A", "B", "C", "D", "results"}
    labels = "return [...document.querySelectorAll('#picture .node text:first-of-type')].map((one) => one.textContent)"
    assert sorted(chrome.execute_script(labels)) == ["A", "B", "B C D", "C", "C D", "D", "results"]
    assert console(chrome) == []


@pytest.mark.parametrize("width", [1280, 400])
def test_nothing_is_wider_than_the_screen(chrome, tmp_path, width):
    """On a desk and on a telephone: tables and the picture scroll within their own boxes."""
    made = engine("ABCDE", "(((A B) C) D) E")
    push(made, 300)
    with made.watch() as page:
        path = page.report(tmp_path / "run.html")
    chrome.get(f"file://{path}")
    screen(chrome, width)
    wide = chrome.execute_script("return document.documentElement.scrollWidth")
    chrome.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    assert wide <= width


def test_the_picture_can_be_read_on_a_telephone(chrome, tmp_path):
    """A plan of four streams is wider than the screen: it scrolls within its box, and its text stays large enough."""
    chrome.get(f"file://{changed(tmp_path / 'run.html')}")
    screen(chrome, 400)
    scale = "return document.getElementById('picture').getScreenCTM().a"
    sizes = (
        "return [...document.querySelectorAll('#picture text')].map((one) => getComputedStyle(one).fontSize)"
    )
    found = [float(size[:-2]) * chrome.execute_script(scale) for size in chrome.execute_script(sizes)]
    box = chrome.execute_script(
        "const of = document.getElementById('picture').parentNode; return [of.clientWidth, of.scrollWidth]"
    )
    chrome.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    assert min(found) >= 10 and box[1] > box[0]


@pytest.mark.parametrize("dark", [False, True])
def test_all_text_stands_out(tmp_path, dark):
    """4.5 to 1 at least, as WCAG has it for small text: in boxes however hot they are, and wherever there is text."""
    with browser(tmp_path / "profile", dark=dark) as chrome:
        chrome.get(f"file://{changed(tmp_path / 'run.html')}")
        assert chrome.execute_script("return matchMedia('(prefers-color-scheme: dark)').matches") is dark
        boxes = chrome.execute_script(CONTRAST + BOXES)
        words = chrome.execute_script(CONTRAST + WORDS)
    assert len(boxes) >= 4 * 2 * 7 and min(boxes) >= 4.5
    assert len(words) > 50 and min(words)[0] >= 4.5, min(words)


def test_costs_are_drawn_below_their_text_and_the_scale_is_told(chrome, tmp_path):
    """Nothing is struck through: ten times the cost is one step more, and the page says so."""
    made = engine()
    with made.watch() as page:
        told = page.recorder.told()
    plain = dict.fromkeys(("gain", "before", "after", "migration", "thinking"))
    told["changes"] = [
        plain | {"t": 0.1, "events": 1, "former": "A", "plan": "B", "outcome": "changed", "reason": "", "cost": 1e-5}
        | {"reckoned": 1e-8, "alternatives": [["C", 1e-7], ["D", 1e-6]]}
    ]  # fmt: skip
    chrome.get(f"file://{write(tmp_path / 'run.html', told)}")
    assert "one step longer: ten times the cost" in text(chrome, "reason")
    lines = chrome.execute_script(
        "return [...document.querySelectorAll('#reason .bars li')].map((line) => [...line.children].map((one) => {"
        " const at = one.getBoundingClientRect(); return [at.top, at.bottom, at.width]; }))"
    )
    assert len(lines) == 4 and all(words[1] <= bar[0] + 0.5 for words, bar in lines)
    widths = [bar[2] for _, bar in lines]
    steps = [longer - shorter for shorter, longer in itertools.pairwise(widths)]
    assert max(steps) - min(steps) < 1 < min(steps)
    assert console(chrome) == []

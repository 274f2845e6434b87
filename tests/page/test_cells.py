"""The page of a run on Spark: its cells, and no plan, since each has its own."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

import eddy
from eddy.page.cells import spark_run
from eddy.page.html import write
from tests.page.browser import browser, console

HARM = "</script><img src=x onerror=\"document.title='harm'\">"


@pytest.mark.parametrize("width", [1280, 400])
def test_cells_are_shown_and_what_there_is_not_is_left_out(tmp_path, width):
    """Rows, times and plans of each; no empty picture or charts; markup is text; nothing is wider than the screen."""
    query = eddy.sql(
        "SELECT A.k FROM A [RANGE 5], B [RANGE 5] WHERE A.k = B.k",
        schemas={name: {"ts": "int64", "k": "int64"} for name in "AB"},
    )
    outcome = SimpleNamespace(seconds=2.5, rows={"A": 7, "B": 8}, bad={"B": 1}, results=6, ended="over")
    cells = [
        SimpleNamespace(
            cell=cell,
            rows={"A": 3, "B": 4},
            results=3,
            seconds=0.5,
            engine_seconds=0.25,
            bytes=2048,
            plans=("A B", HARM + " A B" * 40),
        )
        for cell in (1, 0)
    ]
    told = spark_run(query, {"A": "a.csv", "B": HARM}, outcome, cells, "partitioned by hash\n  2 cells")
    with browser(tmp_path / "profile", width) as chrome:
        chrome.execute_cdp_cmd(
            "Emulation.setDeviceMetricsOverride",
            {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500},
        )
        chrome.get(f"file://{write(tmp_path / 'run.html', told)}")
        rows = [row.text for row in chrome.find_elements("css selector", "#cells tbody tr")]
        assert [row.split()[0] for row in rows] == ["0", "1"] and all(HARM in row for row in rows)
        assert all("500 ms" in row and "250 ms" in row and "2.0 KiB" in row for row in rows)
        shown = [h2.text for h2 in chrome.find_elements("css selector", "h2") if h2.is_displayed()]
        assert shown == ["Streams", "Cells on Spark", "The query"]
        assert chrome.execute_script("return document.documentElement.scrollWidth") <= width
        assert not chrome.find_elements("css selector", "img") and console(chrome) == []

"""The benchmark of bands: its wordings are one query, and its page has its figures."""

from __future__ import annotations

from benchmarks import bands, table
from benchmarks.report import Report

PAGE = table.ROOT / "docs" / "operators.md"


def test_all_wordings_look_at_the_same_rows():
    """Race compares their results; candidates are counted."""
    report = Report(quick=True)
    ratios = bands.measure(64, report)
    assert set(ratios) == set(bands.wordings()) and len(ratios) == 8
    candidates = next(line for line in report.lines if "candidates" in line.what)
    assert candidates.measured == 1.0 and candidates.passed


def test_the_page_has_the_figures_of_the_last_run():
    text = PAGE.read_text(encoding="utf-8")
    assert table.inserted(text, table.read(table.PAGES[PAGE])) == text

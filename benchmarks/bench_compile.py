"""Compile time, apart from all other figures."""

from __future__ import annotations

from pathlib import Path

from benchmarks.compiling import start


def test_compile(benchmark, row, tmp_path: Path):
    """A cold start compiles what its query needs, another query what only that needs; a plan change compiles nothing,
    and a warm start nothing at all."""
    cold = start(tmp_path)
    warm = []
    benchmark.pedantic(lambda: warm.append(start(tmp_path)), rounds=3, iterations=1)
    title = "first import to first result, seconds"
    row(title, "", "import", "first result", "compiled after it")
    row(title, "cold cache", cold.imported, cold.first_result, cold.compiled_after)
    best = min(warm, key=lambda s: s.first_result)
    row(title, "warm cache", best.imported, best.first_result, best.compiled_after)
    benchmark.extra_info.update({"cold": cold.first_result, "warm": best.first_result})
    assert cold.compiled_by_changes == best.compiled_after == 0

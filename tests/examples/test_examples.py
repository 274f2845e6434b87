"""The examples, from Python and by the commands that they name; DuckDB has the same rows."""

from __future__ import annotations

import importlib
import shlex
from pathlib import Path

import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from eddy.cli import main
from examples.comparing import counted

ROOT = Path(__file__).parents[2]
SIZES = {
    "flights": {"months": 1},
    "orders": {"rows": 2_000},
    "sensors": {"rows": 3_000},
}
"""Of those that have fewer rows here than they write by themselves. The advertisements have all 200,000 a file."""
EXAMPLES = ["ads", "aircraft", "flights", "orders", "sensors"]


def commands(example):
    """The commands of an example's docstring that write files, as `eddy` takes them."""
    found = example.__doc__.replace("\\\n", " ").splitlines()
    run = [shlex.split(line)[1:] for line in found if line.strip().startswith("eddy run")]
    return [arguments for arguments in run if "--speed" not in arguments]


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_gives_what_duckdb_gives(name, tmp_path, monkeypatch):
    """Seeded: with the same rows each time."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    folder = tmp_path / name
    folder.mkdir()
    example = importlib.import_module(f"examples.{name}")
    example.write(folder, **SIZES.get(name, {}))
    wanted = counted(example.expected(folder))
    outcome = example.run(folder)
    assert wanted.total() > 10 and outcome.bad == {} and outcome.late == {}
    assert counted(outcome.to_arrow()) == wanted
    (arguments,) = commands(example)
    assert main([*arguments, "--quiet"]) == 0
    out = Path(arguments[arguments.index("--out") + 1])
    if out.suffix == ".parquet":
        assert counted(pq.read_table(out)) == wanted
    else:
        strings = pyarrow.csv.ConvertOptions(strings_can_be_null=True)
        assert counted(pyarrow.csv.read_csv(out, convert_options=strings)) == wanted


def test_every_example_is_tested_and_short():
    """And has its paragraph in the docs, with its command."""
    page = (ROOT / "docs" / "examples.md").read_text()
    for path in (ROOT / "examples").glob("*.py"):
        assert len(path.read_text().splitlines()) <= 120
        if path.stem not in ("__init__", "comparing"):
            assert path.stem in EXAMPLES or (Path(__file__).parent / f"test_{path.stem}.py").exists()
            assert path.with_suffix(".sql").exists()
            assert f"python -m examples.{path.stem} {path.stem}" in page

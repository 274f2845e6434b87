"""The README is true: its examples run and print what it says, its commands, files and names exist.

The python blocks run in order, in one namespace. A text block right after one is what it prints; sizes in bytes
are not compared, since slack may change at any time. A block that prints nothing has no text block after it.
"""

from __future__ import annotations

import contextlib
import io
import re
from importlib.util import find_spec
from pathlib import Path

import pytest
from attrs import frozen

import eddy
import policies
from benchmarks import table
from eddy.cli import _parser

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")

FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SIZE = re.compile(r"\b[\d.,]+ (bytes|KiB|MiB)\b")
LINK = re.compile(r"\]\(([^)#:]+)\)")


@frozen
class Block:
    """A fenced block, and what it prints if it is an example."""

    kind: str
    text: str
    line: int
    printed: str = ""


def blocks(kind: str) -> list[Block]:
    found = []
    fences = list(FENCE.finditer(README))
    for fence, after in zip(fences, [*fences[1:], None], strict=True):
        line = README.count("\n", 0, fence.start()) + 2
        follows = after is not None and not README[fence.end() : after.start()].strip()
        printed = after[2] if after is not None and follows and after[1] == "text" else ""
        found.append(Block(fence[1], fence[2], line, printed))
    return [block for block in found if block.kind == kind]


def sized(text: str) -> str:
    return SIZE.sub("N bytes", text)


def commands() -> list[list[str]]:
    """The commands of the console blocks, as words, comments taken off."""
    lines = [line for block in blocks("console") for line in block.text.splitlines()]
    return [words for line in lines if (words := line.partition("#")[0].split())]


def test_the_examples_run_and_print_what_the_readme_says(tmp_path, monkeypatch):
    """All of them, in order, in one namespace, in an empty folder."""
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, object] = {"__name__": "readme"}
    for block in blocks("python"):
        where = f"README.md:{block.line}"
        out = io.StringIO()
        code = compile("\n" * (block.line - 1) + block.text, "README.md", "exec")
        with contextlib.redirect_stdout(out):
            exec(code, namespace)
        assert sized(out.getvalue()) == sized(block.printed), where


def test_a_block_of_every_kind_is_known():
    """A misspelt fence would hide an example from the test above."""
    kinds = set(re.findall(r"^```(\w*)$", README, re.MULTILINE)) - {""}
    assert kinds == {"python", "text", "console"}
    assert README.count("```") == 2 * len(FENCE.findall(README))


@pytest.mark.parametrize("words", commands(), ids=" ".join)
def test_a_command_exists(words, capsys):
    """Make targets are in the Makefile, modules can be found, and `eddy` understands its arguments."""
    program, *arguments = words
    program = program.removeprefix(".venv/bin/")
    if program == "make":
        makefile = (ROOT / "Makefile").read_text()
        targets = [word for word in arguments if "=" not in word and not word.startswith('"')]
        assert targets[0] in re.search(r"^\.PHONY:(.*)$", makefile, re.MULTILINE)[1].split()
        for variable in re.findall(r"\b([A-Z]+)=", " ".join(arguments)):
            assert f"$({variable})" in makefile
    elif program == "python":
        assert arguments[0] == "-m"
        assert find_spec(arguments[1]) is not None
        source = Path(find_spec(arguments[1]).origin).read_text()
        assert all(f'"{option}"' in source for option in arguments[2:] if option.startswith("--"))
    elif program == "eddy":
        _parser().parse_args(arguments)
    elif program == "pip":
        assert arguments in (["install", "."], ["install", "-e", "'.[dev]'"])
    else:
        assert (ROOT / program).is_file()


def test_every_public_name_is_in_the_readme():
    """A name that users may rely on is one that they can read about."""
    names = [*eddy.__all__, *policies.__all__]
    doors = [name for name in vars(eddy.Eddy) if not name.startswith("_")]
    results = [
        name for name in vars(eddy.Result) if not name.startswith("_") and name not in ("query", "count")
    ]
    missing = [name for name in (*names, *doors, *results) if not re.search(rf"\b{name}\b", README)]
    assert missing == []


def test_files_and_links_are_there():
    """Every path in the layout, and every relative link."""
    folder = ""
    for line in next(block.text for block in blocks("text") if block.text.startswith("stairs/")).splitlines():
        folder = folder if line.startswith(" ") else line.split()[0]
        for path in (folder, *(folder + name for name in re.findall(r"\w+\.py", line))):
            assert (ROOT / path).exists(), path
    for path in LINK.findall(README):
        assert (ROOT / path).exists(), path
    headings = {
        re.sub(r"[^\w -]", "", h).lower().replace(" ", "-") for h in re.findall(r"^#+ (.*)$", README, re.M)
    }
    assert set(re.findall(r"\]\(#([^)]+)\)", README)) <= headings


def test_the_figures_are_those_that_were_measured():
    """`python -m benchmarks.table --write` would change nothing."""
    assert table.inserted(README, table.read()) == README


def test_a_miss_is_shown_as_plainly_as_a_hit():
    """Both have a row, with what was measured and what it must be."""
    figures = {
        "20 streams: speed": {
            "measured": 0.812,
            "target": 1.0,
            "unit": "times",
            "passed": False,
            "note": "a | b",
        },
        "3 streams: speed": {"measured": 1.25, "target": 1.0, "unit": "times", "passed": True, "note": ""},
        "push": {"measured": 1234.5, "target": 150, "unit": "us", "passed": False, "note": ""},
        "compiled": {"measured": 0, "target": 0, "unit": "functions", "passed": True, "note": ""},
    }
    rows = table.render({"targets": figures, "machine": "here"}).splitlines()
    assert [row for row in rows if row.startswith("| ") and "measured" not in row] == [
        "| 3 streams: speed | 1.25 times | at least 1 times | yes | |",
        "| 20 streams: speed | 0.812 times | at least 1 times | **no** | a / b |",
        "| compiled | 0 functions | at most 0 functions | yes | |",
        "| push | 1,234 us | at most 150 us | **no** | |",
    ]
    assert "2 of 4" in "\n".join(rows)


def test_the_table_goes_between_its_marks_only():
    """What stands around it stays, and a README without marks is refused."""
    text = f"before\n{table.BEGIN}\nold\n{table.END}\nafter\n"
    new = table.inserted(text, None)
    assert new.startswith(f"before\n{table.BEGIN}\n") and new.endswith(f"\n{table.END}\nafter\n")
    assert "old" not in new and table.inserted(new, None) == new
    with pytest.raises(SystemExit, match="marks"):
        table.inserted("before\n", None)

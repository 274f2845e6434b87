"""The README and the pages of docs/ are true: examples run and print what they say; commands, files and names exist.

The python blocks of a page run in order, in one namespace. A text block right after one is what it prints; sizes in
bytes are not compared, since slack may change at any time. A block that prints nothing has no text block after it.
Commands of `eddy` run between them, in the same folder, where that has the files that they read.
"""

from __future__ import annotations

import contextlib
import io
import itertools
import re
from collections.abc import Iterable
from importlib.util import find_spec
from inspect import getdoc, signature
from pathlib import Path

import pytest
from attrs import evolve, fields_dict, frozen

import eddy
import policies
from benchmarks import chart, goals, table
from benchmarks import pages as tables
from benchmarks.goals import Group, Line
from benchmarks.stamp import digest, stamp
from eddy.boxes.change import BoxMigration
from eddy.cli import main
from eddy.command.app import understood
from eddy.statistics import EdgeStatistics, FeedbackStatistics, MigrationStatistics, TrackStatistics
from policies import feedback, migration

ROOT = Path(__file__).parents[1]
PAGES = {
    str(path.relative_to(ROOT)): path.read_text(encoding="utf-8")
    for path in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")))
}
README = PAGES["README.md"]
EVERYTHING = "\n".join(PAGES.values())
FIGURES = {str(page.relative_to(ROOT)): results for page, results in table.PAGES.items()}
TECHNIQUES = [
    kind
    for kind in vars(policies).values()
    if isinstance(kind, type) and issubclass(kind, policies.Migration) and kind is not policies.Migration
] + [policies.Cheapest]  # which is loaded when it is first asked for

FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SIZE = re.compile(r"\b[\d.,]+ (bytes|KiB|MiB)\b")
LINK = re.compile(r"\]\(([^)#:]*)(?:#([^)]+))?\)")

COMMANDS_RUN = {"README.md": 1, "docs/tutorial.md": 2, "docs/run.md": 4}
"""Of these pages at least so many commands run: their files are there."""

every_page = pytest.mark.parametrize("page", PAGES)


@frozen
class Block:
    """A fenced block, and what it prints if it is an example."""

    kind: str
    text: str
    line: int
    printed: str = ""


def blocks(kind: str, page: str, *others: str) -> list[Block]:
    found, text = [], PAGES[page]
    fences = list(FENCE.finditer(text))
    for fence, after in itertools.zip_longest(fences, fences[1:]):
        line = text.count("\n", 0, fence.start()) + 2
        follows = after is not None and not text[fence.end() : after.start()].strip()
        printed = after[2] if after is not None and follows and after[1] == "text" else ""
        found.append(Block(fence[1], fence[2], line, printed))
    return [block for block in found if block.kind in (kind, *others)]


def sized(text: str) -> str:
    return SIZE.sub("N bytes", text)


def commands() -> list[list[str]]:
    """The commands of the console blocks, as words, comments taken off; also of what to know before a change."""
    texts = [*PAGES.values(), (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")]
    found = [text for page in texts for kind, text in FENCE.findall(page) if kind == "console"]
    lines = [line for text in found for line in text.splitlines()]
    return [words for line in lines if (words := words_of(line))]


def words_of(line: str) -> list[str]:
    return line.partition("#")[0].split()


def runnable(words: list[str]) -> bool:
    """Whether it is a command of ours over files that are there, which ends by itself and asks for nothing else."""
    if words[:2] not in (["eddy", "run"], ["eddy", "check"], ["eddy", "replay"], ["eddy", "report"]):
        return False
    inputs = itertools.takewhile(lambda word: not word.startswith("-"), words[2:])
    there = all(Path(word.rpartition("=")[2]).exists() for word in inputs)
    return there and not {"--follow", "--on", "--metrics"} & set(words)


def anchors(page: str) -> set[str]:
    """What a link can name of a page: its headings."""
    found = re.findall(r"^#+ (.*)$", FENCE.sub("", PAGES[page]), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading).lower().replace(" ", "-") for heading in found}


def missing(names: Iterable[str], text: str) -> list[str]:
    return [name for name in names if not re.search(rf"\b{name}\b", text)]


@every_page
def test_the_examples_run_and_print_what_the_page_says(page, tmp_path, monkeypatch):
    """All of them, in order, in one namespace, in an empty folder; engines' clocks hardly move, so that no plan change
    is taken back because the machine is busy. Rows that a command would let come slowly come at once."""
    monkeypatch.chdir(tmp_path)
    ticks = itertools.count()
    monkeypatch.setattr("time.perf_counter", lambda: 1e-9 * next(ticks))
    namespace: dict[str, object] = {"__name__": "page"}
    ran = []
    assert blocks("python", page)
    for block in blocks("python", page, "console"):
        if block.kind == "console":
            for words in map(words_of, block.text.splitlines()):
                if runnable(words):
                    quick = [re.sub(r"^\d+x$", "100000x", word) for word in words[1:]]
                    assert main(quick) == 0, f"{page}: {' '.join(words)}"
                    ran.append(words)
            continue
        out = io.StringIO()
        code = compile("\n" * (block.line - 1) + block.text, page, "exec")
        with contextlib.redirect_stdout(out):
            exec(code, namespace)
        assert sized(out.getvalue()) == sized(block.printed), f"{page}:{block.line}"
    assert len(ran) >= COMMANDS_RUN.get(page, 0)


@every_page
def test_a_block_of_every_kind_is_known(page):
    """A misspelt fence would hide an example from the test above."""
    text = PAGES[page]
    kinds = set(re.findall(r"^```(\w*)$", text, re.MULTILINE)) - {""}
    assert kinds == {"python", "text"} | ({"console"} if page == "README.md" else kinds & {"console"})
    assert text.count("```") == 2 * len(FENCE.findall(text))


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
        if "from benchmarks.report import" in source and "command(" in source:  # which has its options there
            source += (ROOT / "benchmarks" / "report.py").read_text()
        assert all(f'"{option}"' in source for option in arguments[2:] if option.startswith("--"))
    elif program == "eddy":
        understood(arguments)
    elif program == "pip":
        extras = re.fullmatch(r"'(?:eddy-stairs|-e \.|\.)\[([\w,]+)\]'", arguments[-1])
        assert arguments in (["install", "."], ["install", "-e", "'.[dev]'"]) or (
            extras and all(f"\n{one} =\n" in (ROOT / "setup.cfg").read_text() for one in extras[1].split(","))
        )
    else:
        assert (ROOT / program).is_file()


def test_every_public_name_is_in_the_docs():
    """A name that users may rely on is one that they can read about."""
    names = [*eddy.__all__, *policies.__all__]
    doors = [name for name in vars(eddy.Eddy) if not name.startswith("_")]
    engines_own = ("query", "count", "contents", "access")  # of a result: what the engine reads and sets
    results = [name for name in vars(eddy.Result) if not name.startswith("_") and name not in engines_own]
    assert missing((*names, *doors, *results), EVERYTHING) == []


def test_every_error_and_warning_can_be_caught_by_its_name():
    """All of `eddy.errors` are names of the package, and so in the docs; errors have one root."""
    made = {name: kind for name, kind in vars(eddy.errors).items() if isinstance(kind, type)}
    assert {name for name in made if getattr(eddy, name, None) is not made[name]} == set()
    assert made.keys() <= set(eddy.__all__) and missing(made, EVERYTHING) == []
    for kind in made.values():
        assert issubclass(kind, eddy.EddyError) != issubclass(kind, Warning)
    assert issubclass(eddy.OrderError, eddy.BatchError)


@pytest.mark.parametrize("technique", TECHNIQUES)
def test_a_technique_has_a_line_in_the_docs_and_a_section_of_its_own(technique):
    """The section begins with the paper and its section, and with how it is made: every option and its default."""
    name = technique.__name__
    assert re.search(rf"^\| `{name}\(", PAGES["docs/plans.md"], re.MULTILINE)
    section = re.search(rf"^## {name}\n(.*?)^## ", PAGES["docs/migration.md"], re.MULTILINE | re.DOTALL)[1]
    assert re.match(r"\n\*(JISC|HybMig|Zhu et al\.), sections? \d", section)
    options = [
        f"{option.name}={option.default!r}".replace("'", '"')
        for option in signature(technique).parameters.values()
    ]
    assert (f"`{name}({', '.join(options)})`" if options else "No options.") in section


def test_what_a_technique_is_written_with_is_described():
    """All that the engine offers it, and all that it may say of itself."""
    offered = [name for kind in (migration.Change, migration.Box, migration.Migration) for name in vars(kind)]
    names = [name for name in (*migration.__all__, *offered) if not name.startswith("_")]
    assert missing(names, PAGES["docs/migration.md"]) == []


def test_whatever_can_be_extended_has_a_short_example():
    """Every base class of a user's own is on the page, in a section with one example of at most 20 lines."""
    page = "docs/extending.md"
    assert (
        missing(["Aggregate", "predicate", "Routing", "Migration", "Feedback", "Boxes", "run"], PAGES[page])
        == []
    )
    assert [block.line for block in blocks("python", page) if len(block.text.splitlines()) > 20] == []
    sections = re.findall(r"^## (An? .*?)\n(.*?)(?=^## )", PAGES[page], re.MULTILINE | re.DOTALL)
    assert len(sections) == 7
    assert [name for name, text in sections if text.count("```python\n") != 1] == []


def test_what_a_migration_tells_is_described():
    """Every field of the statistics of a plan change, and of a change of black boxes; all that these offer."""
    told = [*fields_dict(MigrationStatistics), *fields_dict(TrackStatistics), *fields_dict(BoxMigration)]
    page = PAGES["docs/migration.md"]
    assert [name for name in told if f"`{name}`" not in page] == []
    assert [name for name in vars(eddy.Boxes) if not name.startswith("_") and f"`{name}" not in page] == []


def test_what_a_stair_can_do_is_described():
    """Every public name of a view, and of what it gives."""
    names = [
        name for kind in (eddy.StairView, eddy.Entries) for name in vars(kind) if not name.startswith("_")
    ]
    assert missing(names, PAGES["docs/stairs.md"]) == []


def test_what_feedback_tells_is_described():
    """Every policy with its options, every field of its statistics, and all that a policy may say."""
    page = PAGES["docs/feedback.md"]
    told = [*fields_dict(FeedbackStatistics), *fields_dict(EdgeStatistics)]
    said = [name for kind in (feedback.base.Feedback, feedback.base.Edge) for name in vars(kind)]
    said = [name for name in said if not name.startswith("_")]
    assert [name for name in (*told, *said) if f"`{name}" not in page] == []
    for policy in (policies.NoFeedback, policies.Doe, policies.Mns):
        options = [f"{option.name}={option.default!r}" for option in signature(policy).parameters.values()]
        assert f"\n`{policy.__name__}({', '.join(options)})` ".replace("'", '"') in page


def test_what_queries_engines_and_results_take_is_described():
    """Every option has its name on some page."""
    takers = (eddy.Query, eddy.sql, eddy.Eddy, eddy.Eddy.push, eddy.Eddy.load, eddy.Result.to_arrow)
    options = [name for taker in takers for name in signature(taker).parameters if not name.startswith("_")]
    assert missing(set(options) - {"self"}, "\n".join(PAGES.values())) == []


@pytest.mark.parametrize("taker", [eddy.run, eddy.Eddy], ids=["run", "Eddy"])
def test_a_docstring_has_a_line_for_each_option(taker):
    """In the order of the signature; help() and the reference show them."""
    listed = re.findall(r"^    \**(\w+): ", getdoc(taker).partition("Args:\n")[2], re.MULTILINE)
    assert (
        listed
        == list(signature(taker.__init__ if isinstance(taker, type) else taker).parameters)[
            isinstance(taker, type) :
        ]
    )


def test_the_files_of_the_layout_are_there():
    """Every path in it."""
    folder = ""
    layout = next(block.text for block in blocks("text", "README.md") if block.text.startswith("stairs/"))
    for line in layout.splitlines():
        folder = folder if line.startswith(" ") else line.split()[0]
        for path in (folder, *(folder + name for name in re.findall(r"\w+\.py", line))):
            assert (ROOT / path).exists(), path


@every_page
def test_links_lead_somewhere(page):
    """Every relative link is to a file that is there, and to a heading that it has."""
    for path, anchor in LINK.findall(PAGES[page]):
        target = ((ROOT / page).parent / path).resolve() if path else ROOT / page
        assert target.exists(), path
        assert not anchor or anchor in anchors(str(target.relative_to(ROOT))), anchor


def test_the_readme_links_to_every_page():
    """Nobody looks into docs/ unasked."""
    assert {path for path, _ in LINK.findall(README)} >= set(PAGES) - {"README.md"}


@pytest.mark.parametrize("page", FIGURES)
def test_the_figures_are_those_that_were_measured(page):
    """`make pages` would change nothing: neither a figure, nor the mark of one that is older than the code."""
    assert table.inserted(PAGES[page], goals.read(FIGURES[page])) == PAGES[page]


@pytest.mark.parametrize("kept", list(tables.kept()), ids=lambda kept: kept["name"])
def test_the_tables_are_those_that_were_measured(kept):
    """The same of the tables that benchmarks put into the pages."""
    page = f"docs/{kept['page']}"
    assert tables.inserted(PAGES[page], kept) == PAGES[page]


def test_the_readme_has_a_short_summary_of_them():
    """Five lines at the most, which the same command writes, and a link to the page that has them all."""
    assert table.summarised(README, goals.read(table.RESULTS)) == README
    begin, end = table.SUMMARY
    lines = README.partition(begin)[2].partition(end)[0].strip().splitlines()
    assert len(lines) <= 5 and "(docs/benchmarks.md)" in lines[0] and not any("|" in line for line in lines)
    assert "docs/benchmarks.md" in table.summary({})


def test_the_chart_has_the_ratio_that_was_measured():
    """`make pages` would change nothing, and the picture is the one that was drawn when this was measured."""
    found = chart.kept()
    assert table.captioned(README, found) == README
    assert f"Eddy was {found['times']:.1f} times as fast" in README
    dotted = (ROOT / "docs" / "pictures" / "drift.svg").read_text().count("stroke-dasharray")
    assert dotted == len(found["changes"]) + 1  # the legend has one


def test_a_chart_that_is_older_than_the_code_is_marked():
    """Below the picture, as other figures are; one that is not has no mark."""
    found = chart.kept()
    as_now = found | {"stamp": found["stamp"] | {"code": digest(found["measures"])}}
    assert "older than" not in chart.caption(as_now)
    older = chart.caption(found | {"stamp": found["stamp"] | {"code": "another"}})
    assert older == chart.caption(as_now).removesuffix(".") + " (older than the code)."


def test_a_miss_is_shown_as_plainly_as_a_hit():
    """Both have a row, with what was measured and what it must be."""
    lines = [
        Line("20 streams: speed", 0.812, "times", 1.0, at_least=True, note="a | b"),
        Line("3 streams: speed", 1.25, "times", 1.0, at_least=True),
        Line("push", 1234.5, "us", 150),
        Line("compiled", 0, "functions", 0),
        Line("no goal", 2, "times", None),
    ]
    made = stamp(["stairs"], 0, "python -m benchmarks.targets", 0.5)
    rows = table.render({"all": Group(lines, made, ["stairs"])}).splitlines()
    assert [row for row in rows if row.startswith("| ") and "measured" not in row] == [
        "| 3 streams: speed | 1.25 times | at least 1 times | yes |  | 1 |",
        "| 20 streams: speed | 0.812 times | at least 1 times | **no** | a / b | 1 |",
        "| compiled | 0 functions | at most 0 functions | yes |  | 1 |",
        "| no goal | 2 times | - | - |  | 1 |",
        "| push | 1,234 us | at most 150 us | **no** |  | 1 |",
    ]
    assert "2 of 4" in "\n".join(rows)
    assert "benchmarks.targets" in rows[-1] and "Stale" not in rows[-1]
    older = table.render({"all": Group(lines, evolve(made, code="another"), ["stairs"])})
    assert "**Stale**" in older.splitlines()[-1]


def test_the_table_goes_between_its_marks_only():
    """What stands around it stays, and a README without marks is refused."""
    text = f"before\n{table.BEGIN}\nold\n{table.END}\nafter\n"
    new = table.inserted(text, {})
    assert new.startswith(f"before\n{table.BEGIN}\n") and new.endswith(f"\n{table.END}\nafter\n")
    assert "old" not in new and table.inserted(new, {}) == new
    with pytest.raises(SystemExit, match="marks"):
        table.inserted("before\n", {})

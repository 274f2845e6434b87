"""Figures of the papers: a piece touches no other, claims can fail, and the pages are what was measured."""

from __future__ import annotations

import html
import io
import json
import re
from collections.abc import Iterator

import pytest
from attrs import evolve
from rich.console import Console

from benchmarks.papers.catalogue import FIGURES, named
from benchmarks.papers.draw import draw
from benchmarks.papers.figure import GOAL, Chart, Claim, Figure, Profile, Row, Verdict, chosen
from benchmarks.papers.pages import FOLDER, pages, shown
from benchmarks.papers.record import keep, measured_by, path_of, read, stale
from benchmarks.papers.run import run, tasks
from benchmarks.stamp import code, digest

QUICK = Profile()


def doubled(profile: Profile) -> Iterator[Row]:
    """Parallel Track takes two windows, Moving State half of one."""
    profile.tell("measuring")
    for window in (100, 200):
        for technique, factor in (("PT", 2.0), ("MS", 0.5)):
            yield {"window": window, "technique": technique, "ms": factor * window}


def other(profile: Profile) -> Iterator[Row]:
    yield {"window": 400, "technique": "PT", "ms": 800.0}


def twice(rows) -> Verdict:
    of = [row["ms"] / row["window"] for row in rows if row["technique"] == "PT"]
    return Verdict(all(1.8 < x < 2.2 for x in of), f"{min(of):.2f} to {max(of):.2f} windows")


FIGURE = Figure(
    name="a-1",
    paper="A",
    label="Figure 1",
    title="Durations",
    setup="As printed.",
    pieces={"small": doubled, "large": other},
    claims=[Claim("Parallel Track takes two windows", twice, why="the clock is broken")],
    charts=[Chart("window", "ms", "technique"), Chart("window", "ms", "technique", kind="bar")],
    measures=("benchmarks/papers/figure.py",),
)


def test_a_piece_touches_no_other(tmp_path):
    """Neither rows nor stamp, nor other figures."""
    run(tasks([FIGURE], QUICK, folder=tmp_path), QUICK, tmp_path)
    path = path_of("a-1", "quick", tmp_path)
    before = json.loads(path.read_text())
    assert list(before) == ["large", "small"] and before["small"]["stamp"]["seed"] == 0
    record = read("a-1", "quick", tmp_path)["large"]
    keep("a-1", "quick", "large", evolve(record, stamp=evolve(record.stamp, seed=7)), tmp_path)
    after = json.loads(path.read_text())
    assert after["small"] == before["small"] and after["large"]["stamp"]["seed"] == 7
    assert [p.name for p in (tmp_path / "quick").iterdir()] == ["a-1.json"]


def test_a_quick_run_leaves_out_what_is_large(tmp_path):
    """It is missing in a full run only."""
    figure = evolve(FIGURE, large=frozenset({"large"}))
    assert [task.piece for task in tasks([figure], QUICK, folder=tmp_path)] == ["small"]
    run(tasks([figure], QUICK, folder=tmp_path), QUICK, tmp_path)
    assert shown(figure, tmp_path).missing == []
    assert len(tasks([figure], Profile("full"), folder=tmp_path)) == 2
    with pytest.raises(ValueError, match="no piece of a-1"):
        evolve(FIGURE, large=frozenset({"huge"}))


def test_an_interrupted_run_is_taken_up_again(tmp_path):
    """What has a record of this code is not measured again; what is older is."""
    calls = []

    def breaks(profile: Profile) -> Iterator[Row]:
        calls.append("breaks")
        if len(calls) == 1:
            raise KeyboardInterrupt
        yield from other(profile)

    figure = evolve(FIGURE, pieces={"small": doubled, "large": breaks})
    with pytest.raises(KeyboardInterrupt):
        run(tasks([figure], QUICK, folder=tmp_path), QUICK, tmp_path)
    assert [task.piece for task in tasks([figure], QUICK, folder=tmp_path)] == ["large"]
    run(tasks([figure], QUICK, folder=tmp_path), QUICK, tmp_path)
    assert tasks([figure], QUICK, folder=tmp_path) == []
    assert len(tasks([figure], QUICK, again=True, folder=tmp_path)) == 2
    older = evolve(figure, measures=("benchmarks/papers/run.py",))
    assert len(tasks([older], QUICK, folder=tmp_path)) == 2


def test_a_record_is_stale_when_the_code_has_changed(tmp_path):
    run(tasks([FIGURE], QUICK, folder=tmp_path), QUICK, tmp_path)
    record = read("a-1", "quick", tmp_path)["small"]
    assert not stale(FIGURE, record)
    changed = evolve(record, stamp=evolve(record.stamp, code="another"))
    assert stale(FIGURE, changed)
    assert "Stale" not in pages([FIGURE], tmp_path)["a.md"]
    keep("a-1", "quick", "small", changed, tmp_path)
    assert "**Stale**" in pages([FIGURE], tmp_path)["a.md"]
    assert "**stale**" in pages([FIGURE], tmp_path)["README.md"]


def test_the_code_of_a_figure_is_what_it_measures_and_what_measures_it():
    assert measured_by(FIGURE) == ("benchmarks/papers/figure.py", "tests/benchmarks/test_papers.py")
    with pytest.raises(FileNotFoundError, match="nowhere"):
        digest(["nowhere"])


def test_a_stamp_has_the_command_that_measures_the_same_again(tmp_path):
    """With the seed, where it is not the usual one."""
    for seed, told in ((0, "a-1 --profile quick"), (3, "a-1 --profile quick --seed 3")):
        run(tasks([FIGURE], Profile(seed=seed), again=True, folder=tmp_path), Profile(seed=seed), tmp_path)
        stamp = read("a-1", "quick", tmp_path)["small"].stamp
        assert stamp.command == f"python -m benchmarks.papers {told}" and stamp.seed == seed


def test_a_claim_that_does_not_hold_is_shown_with_its_reason(tmp_path):
    run(tasks([FIGURE], QUICK, folder=tmp_path), QUICK, tmp_path)
    assert (
        "| Parallel Track takes two windows | 2.00 to 2.00 windows | yes |  |"
        in pages([FIGURE], tmp_path)["a.md"]
    )
    record = read("a-1", "quick", tmp_path)["large"]
    slow = [{**row, "ms": 10 * row["ms"]} for row in record.rows]
    keep("a-1", "quick", "large", evolve(record, rows=slow), tmp_path)
    text = pages([FIGURE], tmp_path)
    assert "| 2.00 to 20.00 windows | **no** | the clock is broken |" in text["a.md"]
    assert "| 0 of 1 |" in text["README.md"] and "0 of 1 claims of the papers hold." in text["README.md"]


def test_goals_of_ours_are_told_apart_from_the_papers_claims(tmp_path):
    """So nobody takes a goal that is reached for a paper that was right."""
    run(tasks([FIGURE], QUICK, folder=tmp_path), QUICK, tmp_path)
    goal = evolve(FIGURE.claims[0], text=f"{GOAL}two windows")
    both = pages([evolve(FIGURE, claims=[*FIGURE.claims, goal])], tmp_path)["README.md"]
    assert "1 of 1 claims of the papers hold, and 1 of 1 goals of ours are reached." in both
    assert "1 of 1 goals of ours are reached." in pages([evolve(FIGURE, ours=True)], tmp_path)["README.md"]


def test_a_picture_tells_what_is_missing_and_that_the_code_has_changed(tmp_path):
    run(tasks([FIGURE], QUICK, folder=tmp_path)[:1], QUICK, tmp_path)
    assert shown(FIGURE, tmp_path).note == "quick profile; not measured: large"
    record = read("a-1", "quick", tmp_path)["small"]
    keep("a-1", "quick", "small", evolve(record, stamp=evolve(record.stamp, code="another")), tmp_path)
    assert shown(FIGURE, tmp_path).note == "quick profile; not measured: large; the code has changed since"


def test_the_full_profile_is_shown_before_the_quick_one(tmp_path):
    run(tasks([FIGURE], QUICK, folder=tmp_path), QUICK, tmp_path)
    full = Profile("full")
    run(tasks([FIGURE], full, folder=tmp_path)[:1], full, tmp_path)
    found = shown(FIGURE, tmp_path)
    assert found.profile == "full" and found.missing == ["large"]
    assert "1 of 2 pieces missing" in pages([FIGURE], tmp_path)["README.md"]


def test_a_picture_has_every_chart(tmp_path):
    paper = [{"window": 100, "technique": "PT", "ms": 210.0}]
    figure = evolve(FIGURE, charts=[evolve(chart, paper=paper) for chart in FIGURE.charts])
    svg, png = draw(figure, list(doubled(QUICK)), tmp_path)
    assert svg.read_text().count("PT, in the paper") == 2 and png.stat().st_size > 10_000
    again = svg.read_text()
    draw(figure, list(doubled(QUICK)), tmp_path)
    assert svg.read_text() == again
    assert draw(figure, [{"window": 1, "technique": "PT", "ms": None}], tmp_path) == []


def test_a_picture_says_what_was_claimed_and_what_was_measured(tmp_path):
    svg, _ = draw(FIGURE, list(doubled(QUICK)), tmp_path, "quick profile")
    text = svg.read_text()
    assert (
        "Parallel Track takes two windows - agrees: 2.00 to 2.00 windows" in text and "quick profile" in text
    )
    wrong = [{**row, "ms": 10 * row["ms"]} for row in doubled(QUICK)]
    svg, _ = draw(FIGURE, wrong, tmp_path)
    assert "Parallel Track takes two windows - does not agree: 20.00 to 20.00 windows" in svg.read_text()


@pytest.mark.parametrize("log", ["", "xy"])
def test_the_numbers_of_an_axis_are_those_of_the_points(tmp_path, log):
    """Plain ones, without a power of ten or a fraction of a stream; what would be too near is left out."""
    rows = [{"streams": x, "ms": 1e6 * x} for x in (4, 5, 100, 101, 2000)]
    charts = [Chart("streams", "ms", log=log)]
    svg, _ = draw(evolve(FIGURE, charts=charts, claims=[]), rows, tmp_path)
    told = {line.strip().removesuffix("</text>").rpartition(">")[2] for line in svg.read_text().splitlines()}
    assert {"2,000", "101"} <= told and not {"100", "4.5"} & told
    assert any(text.endswith(" M") for text in told)


def test_a_chart_may_show_rows_of_several_values():
    rows = [{"batch": 1, "ms": 1.0}, {"batch": 512, "ms": 2.0}, {"batch": 4096, "ms": 3.0}]
    assert [row["ms"] for row in chosen(rows, batch=frozenset({512, 4096}))] == [2.0, 3.0]
    assert [row["ms"] for row in chosen(rows, batch=1)] == [1.0]


def test_figures_without_rows_of_their_own_name_those_they_show():
    with pytest.raises(ValueError, match="a-1"):
        evolve(FIGURE, of=FIGURE)
    with pytest.raises(ValueError, match="no piece of a-1"):
        evolve(FIGURE, name="a-2", pieces={}, of=FIGURE, only=["huge"])


def test_a_piece_that_several_figures_show_is_measured_once(tmp_path):
    shows = evolve(FIGURE, name="a-2", pieces={}, of=FIGURE, only=["large"])
    assert [task.piece for task in tasks([shows], QUICK, folder=tmp_path)] == ["large"]
    wanted = tasks([shows, FIGURE], QUICK, folder=tmp_path)
    assert sorted((task.figure.name, task.piece) for task in wanted) == [("a-1", "large"), ("a-1", "small")]
    run(wanted, QUICK, tmp_path)
    assert shown(shows, tmp_path).rows == list(read("a-1", "quick", tmp_path)["large"].rows)
    assert tasks([shows], QUICK, folder=tmp_path) == []


def test_progress_is_for_terminals_only(tmp_path):
    pipe, terminal = io.StringIO(), io.StringIO()
    run(tasks([FIGURE], QUICK, folder=tmp_path), QUICK, tmp_path, Console(file=pipe))
    assert pipe.getvalue() == ""
    wanted = tasks([FIGURE], QUICK, again=True, folder=tmp_path)
    run(wanted, QUICK, tmp_path, Console(file=terminal, force_terminal=True))
    assert "2/2" in terminal.getvalue()


# -- the catalogue ---------------------------------------------------------------------------------------------------


def broken(rows: list[Row]) -> Iterator[list[Row]]:
    """The rows with something wrong in them: one side's numbers much larger or smaller, or all numbers turned round."""
    columns = dict.fromkeys(name for row in rows for name in row)
    numbers = [n for n in columns if any(isinstance(row.get(n), float) or _count(row.get(n)) for row in rows)]
    sides = [n for n in columns if any(isinstance(row.get(n), str) for row in rows)]
    for column in numbers:
        for factor in (1000.0, 0.001, 0.0, -1.0):
            yield [_scaled(row, column, factor) for row in rows]
            for side in sides:
                for value in dict.fromkeys(row.get(side) for row in rows):
                    yield [_scaled(row, column, factor) if row.get(side) == value else row for row in rows]
        values = [row.get(column) for row in rows]
        yield [{**row, column: value} for row, value in zip(rows, reversed(values), strict=True)]


def _count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _scaled(row: Row, column: str, factor: float) -> Row:
    value = row.get(column)
    return {**row, column: value * factor} if isinstance(value, float) or _count(value) else row


@pytest.mark.parametrize("figure", FIGURES, ids=lambda figure: figure.name)
def test_every_claim_can_fail(figure):
    """There are wrong rows that refute it: a claim that no measurement can refute says nothing."""
    rows = shown(figure).rows
    if not rows:
        pytest.fail(f"{figure.name} has no record: python -m benchmarks.papers {figure.name}")
    for claim in figure.claims:
        if claim.judge(rows) is None:
            continue
        assert any(_refuted(claim, wrong) for wrong in broken(rows)), claim.text


@pytest.mark.parametrize("figure", FIGURES, ids=lambda figure: figure.name)
def test_every_claim_that_does_not_hold_says_why(figure):
    """As far as a measurement has shown it; that it was not found out is an answer, too."""
    rows = shown(figure).rows
    for claim in figure.claims:
        verdict = claim.judge(rows)
        assert verdict is None or verdict.agrees or claim.why, f"{claim.text}: {verdict.measured}"


def _refuted(claim: Claim, rows: list[Row]) -> bool:
    try:
        verdict = claim.judge(rows)
    except (ArithmeticError, ValueError):
        return False
    return verdict is not None and not verdict.agrees


def test_the_test_of_claims_finds_one_that_cannot_fail():
    rows = list(doubled(QUICK))
    assert any(_refuted(FIGURE.claims[0], wrong) for wrong in broken(rows))
    empty = Claim("always", lambda rows: Verdict(True, "anything"))
    assert not any(_refuted(empty, wrong) for wrong in broken(rows))


def test_names_are_unique_and_found():
    names = [figure.name for figure in FIGURES]
    assert len(set(names)) == len(names)
    assert all(named(name).name == name for name in names)
    with pytest.raises(KeyError, match="no figure"):
        named("nothing")


def test_the_pages_are_those_that_were_measured():
    """`make pages` would change nothing: neither a number, nor the mark of a record that is older than the code."""
    for name, text in pages(FIGURES).items():
        assert (FOLDER / name).read_text(encoding="utf-8") == text, f"docs/results/{name}: run make pages"


@pytest.mark.parametrize("figure", FIGURES, ids=lambda figure: figure.name)
def test_every_measured_figure_is_drawn(figure):
    if figure.charts:
        assert (FOLDER / f"{figure.name}.svg").exists() and (FOLDER / f"{figure.name}.png").exists()


@pytest.mark.parametrize("figure", FIGURES, ids=lambda figure: figure.name)
def test_pictures_say_what_the_records_say(figure):
    """Every claim that stands below a picture, what was measured of it, and whether the code has changed since."""
    if not figure.charts:
        return
    lines = re.findall(r">([^<>]+)</text>", (FOLDER / f"{figure.name}.svg").read_text(encoding="utf-8"))
    below, rows = " ".join(html.unescape(" ".join(lines)).split()), shown(figure).rows
    for claim in figure.claims:
        verdict = claim.judge(rows)
        if verdict is not None:
            word = "agrees" if verdict.agrees else "does not agree"
            told = f"{claim.text} - {word}: {verdict.measured}".replace("`", "")
            assert " ".join(told.split()) in below, f"{figure.name}: run make figures"
    assert below.endswith(shown(figure).note), f"{figure.name}: run make figures"


def test_what_is_measured_is_code_and_not_what_is_said_of_it():
    """A comment or a docstring makes no figure stale; a number does."""
    before = b'def f(x):\n    """Says this."""\n    return x + 1\n'
    assert code(before) == code(b'"""Of a module."""\n\ndef f(x):\n    # says that\n    return (x + 1)\n')
    assert code(before) != code(before.replace(b"1", b"2"))

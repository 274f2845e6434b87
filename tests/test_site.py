"""The site that `make docs` builds: every page is there, in a chapter, in HTML and as plain Markdown."""

from __future__ import annotations

import html
import importlib.util
import inspect
import re
import subprocess
import sys
from pathlib import Path

import attrs
import pytest

import eddy
import policies

ROOT = Path(__file__).parents[1]
SOURCES = {path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs").rglob("*.md")}
PAGES = {"index.md", "api.md", "results/index.md", *SOURCES - {"results/README.md"}}
LINE = re.compile(r"^- \[(.+?)\]\(([^)]+)\)(?:: (.+))?$", re.MULTILINE)


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The whole of it, as `make docs` makes it, in a folder of its own."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, ROOT / "docs" / "site.py", "--into", folder]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "No issues found" in done.stdout + done.stderr
    return folder / "site"


@pytest.fixture(scope="module")
def maker():
    """The program, as a module."""
    sys.path.insert(0, str(ROOT / "docs"))
    try:
        spec = importlib.util.spec_from_file_location("docs_site", ROOT / "docs" / "site.py")
        made = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(made)
    finally:
        sys.path.remove(str(ROOT / "docs"))
    return made


def plain(text: str) -> str:
    return " ".join(html.unescape(re.sub(r"<[^>]+>", "", text)).split())


def section(site: Path, kind: type) -> str:
    """Of a class, in the reference for programs."""
    text = (site / "api.md").read_text() + "\n##"
    return re.search(rf"^### {kind.__name__}\b(.*?)(?=^##)", text, re.MULTILINE | re.DOTALL)[1]


def test_every_page_is_there_for_people_and_for_programs(site):
    made = {path.relative_to(site).as_posix() for path in site.rglob("*")}
    assert {name for name in PAGES if name not in made} == set()
    assert {name for name in PAGES if name.removesuffix(".md") + ".html" not in made} == set()


def test_the_list_for_programs_has_every_page_once_in_a_chapter_with_what_it_begins_with(site):
    """In the order of the site's chapters; each title is the page's own, and the sentence stands on the page."""
    listed = LINE.findall((site / "llms.txt").read_text())
    assert sorted(name for _, name, _ in listed) == sorted(PAGES)
    chapters = re.findall(r"^## (.*)$", (site / "llms.txt").read_text(), re.MULTILINE)
    assert chapters == ["Eddy", "Begin", "Queries", "In Python", "Operate", "How it works", "Research"]
    for title, name, said in listed:
        text = (site / name).read_text()
        assert f"# {title}\n" in text
        if name != "index.md":
            words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", " ".join(text.split()))
            assert said and said.rstrip(".") in words and "```" not in said


def test_the_menu_has_every_page(site):
    menu = set(re.findall(r'href="(?:\./)?([\w/-]+\.html)', (site / "tutorial.html").read_text()))
    assert {name.removesuffix(".md") + ".html" for name in PAGES} <= menu


def test_a_bar_in_a_table_is_shown_as_a_bar(site):
    """In Markdown it has a backslash there, which Python's Markdown shows in code, and which a program may take for
    part of the plan."""
    assert r"\|" in (ROOT / "docs" / "plans.md").read_text()
    kept = [
        path.name for path in site.rglob("*") if path.suffix in (".md", ".html") and r"\|" in path.read_text()
    ]
    assert kept == []
    orderings = "A: B C | B: A C | C: A B"
    assert f"<code>{orderings}</code>" in html.unescape((site / "plans.html").read_text())
    assert f"| `{orderings}` |" in (site / "plans.md").read_text()


def test_a_link_says_what_it_leads_to(site):
    """Not the name of a file, which readers of the site do not see."""
    found = {
        (path.name, text)
        for path in site.rglob("*.html")
        for text in re.findall(r"<a [^>]*>(.*?)</a>", path.read_text(), re.DOTALL)
        if re.fullmatch(r"[\w./-]+\.md", plain(text))
    }
    assert found == set()


CLASSES = [getattr(module, name) for module in (eddy, policies) for name in module.__all__]
CLASSES = [one for one in CLASSES if isinstance(one, type)]


@pytest.mark.parametrize("kind", [one for one in CLASSES if attrs.has(one)])
def test_the_reference_has_every_field_of_a_public_class(site, kind):
    """In both forms, whether it has a docstring of its own or not."""
    names = [one.name for one in attrs.fields(kind) if not one.name.startswith("_")]
    assert [name for name in names if f"\n- `{name}: " not in section(site, kind)] == []
    page = (site / "api.html").read_text()
    assert [name for name in names if f'id="{kind.__module__}.{kind.__qualname__}.{name}"' not in page] == []


@pytest.mark.parametrize("kind", CLASSES)
def test_the_reference_has_every_method_that_is_described(site, kind):
    """In both forms."""
    names = [
        name
        for name, value in vars(kind).items()
        if not name.startswith("_") and inspect.isfunction(value) and value.__doc__
    ]
    assert [name for name in names if f"\n- `{name}(" not in section(site, kind)] == []
    page = (site / "api.html").read_text()
    assert [name for name in names if f'id="{kind.__module__}.{kind.__qualname__}.{name}"' not in page] == []


def test_the_reference_leads_nowhere_that_it_does_not_have(site):
    """No private names, no `__new__`, no bases that are not public."""
    page = (site / "api.html").read_text()
    names = re.findall(r'<h[345] id="([\w.]+)"', page)
    assert [name for name in names if name.rpartition(".")[2].startswith("_")] == []
    bases = {plain(one) for one in re.findall(r"Bases: (.*?)</p>", page, re.DOTALL)}
    allowed = {*eddy.__all__, *policies.__all__, "Exception", "UserWarning", "RuntimeWarning"}
    assert bases and bases <= allowed


def test_a_page_in_no_chapter_is_an_error(maker):
    """Nobody would find it; and a chapter that names a page which is gone is one, too."""
    there = maker.pages()
    with pytest.raises(SystemExit, match=r"no chapter has another\.md: add it to NAV"):
        maker.chapters(there | {"another.md": "# Another"})
    del there["limits.md"]
    with pytest.raises(SystemExit, match=r"NAV has limits\.md"):
        maker.chapters(there)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("# A\n\nOne. Two.", "One."),
        (
            "# A\n\n```python\nx = 1\n\ny = 2\n```\n\nIt is [so](b.md), e.g. here: done. Next",
            "It is so, e.g. here: done.",
        ),
        ("# A\n\n| a |\n|---|\n\n![x](y.svg)\n\n- one\n\n`f` does it:", "`f` does it."),
        ("# A\n", ""),
    ],
)
def test_the_first_sentence_is_that_of_the_first_paragraph(maker, text, sentence):
    assert maker.first_sentence(text) == sentence

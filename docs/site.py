"""The site, in build/site: `python docs/site.py [--serve] [--into FOLDER]`.

It is made of the README and the pages of this folder, which are put together in build/pages first. Links to files that
are no pages become their names: the site has no sources. `api.md` is made of docstrings, and every page is there as
plain Markdown too, with a list by chapters, `llms.txt`. zensical builds it, which is alive, refuses links that lead
nowhere (`--strict`), and reads docstrings by mkdocstrings.
"""

from __future__ import annotations

import argparse
import html
import itertools
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import reference

ROOT = Path(__file__).parents[1]
LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)\s]+)\)")
ROW = re.compile(r"^\|.*\|$", re.MULTILINE)
FILE = re.compile(r"`?[\w./-]+\.md`?")
FENCE = re.compile(r"(^```.*?^```$)", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"`([^`]+)`")
BAR = r"\|"
"""As it stands in a row of a table, where a bar alone ends a cell."""
STYLES = ".md-typeset td code { word-break: normal; }\n"
"""Plans and calls in tables are not cut within a word."""
NAV = {
    "Begin": "tutorial setup run examples shell watch",
    "Queries": "queries sql expressions types outer differences operators time",
    "In Python": "pushing several plans inspecting saving inputs api",
    "Operate": "operations monitoring tuning memory kafka brokers postgresql http scaling spark limits",
    "How it works": "exact migration routing feedback stairs printed architecture",
    "Research": "extending benchmarks nexmark tpch results",
}
"""Pages by chapter."""


def pages() -> dict[str, str]:
    """The text of each page by its path: the README is the first."""
    found = {"index.md": (ROOT / "README.md").read_text(encoding="utf-8")}
    docs = ROOT / "docs"
    for path in sorted(docs.rglob("*.md")):
        name = path.relative_to(docs).as_posix()
        found["results/index.md" if name == "results/README.md" else name] = path.read_text(encoding="utf-8")
    found["api.md"] = reference.page()
    return {name: linked(name, text, found) for name, text in found.items()}


def linked(name: str, text: str, all_pages: dict[str, str]) -> str:
    """A page whose links lead to pages and pictures of the site."""
    home = ROOT if name == "index.md" else (ROOT / "docs" / name).parent

    def link(found: re.Match[str]) -> str:
        picture, label, target = found.groups()
        if "://" in target or target.startswith("#"):
            return found[0]
        path, _, anchor = target.partition("#")
        there = (home / path).resolve()
        if there == ROOT / "README.md":
            inside = "index.md"
        elif there.is_relative_to(ROOT / "docs"):
            inside = (
                there.relative_to(ROOT / "docs").as_posix().replace("results/README.md", "results/index.md")
            )
        else:
            return f"`{there.relative_to(ROOT)}`" if label.startswith("`") else label
        if not picture and inside not in all_pages:
            return label
        up = "../" * name.count("/")
        if FILE.fullmatch(label):
            label = heading(all_pages[inside], anchor) or title(all_pages[inside], inside)
        return f"{picture}[{label}]({up}{inside}{'#' + anchor if anchor else ''})"

    parts = FENCE.split(text)
    return "".join(part if part.startswith("```") else LINK.sub(link, part) for part in parts)


def title(text: str, otherwise: str) -> str:
    found = re.search(r"^# (.*)$", text, re.MULTILINE)
    return found[1] if found else otherwise


def heading(text: str, anchor: str) -> str:
    """What stands there."""
    for said in re.findall(r"^#+ (.*)$", FENCE.sub("", text), re.MULTILINE):
        if re.sub(r"[^\w -]", "", said).lower().replace(" ", "-") == anchor:
            return str(said)
    return ""


def chapters(all_pages: dict[str, str]) -> dict[str, list[str]]:
    """The pages of each chapter, every page in one; of these the front page and the papers' figures come last."""
    left = dict.fromkeys(all_pages)
    found: dict[str, list[str]] = {"Eddy": ["index.md"]}
    for chapter, names in NAV.items():
        there = ["results/index.md" if name == "results" else f"{name}.md" for name in names.split()]
        if missing := [page for page in there if page not in all_pages]:
            raise SystemExit(
                f"docs/site.py: NAV has {', '.join(missing)}, and docs has not: take it out of NAV"
            )
        if "results/index.md" in there:
            there += [page for page in all_pages if page.startswith("results/") and page not in there]
        found[chapter] = there
    for page in itertools.chain(*found.values()):
        del left[page]
    if left:
        raise SystemExit(f"docs/site.py: no chapter has {', '.join(left)}: add it to NAV")
    return found


def nav(all_pages: dict[str, str]) -> str:
    """The chapters, as zensical has them."""
    (front, (first,)), *others = chapters(all_pages).items()
    lines = [f"  {{{json.dumps(front)} = {json.dumps(first)}}},"]
    return "\n".join(
        lines + [f"  {{{json.dumps(chapter)} = {json.dumps(names)}}}," for chapter, names in others]
    )


def configuration(all_pages: dict[str, str]) -> str:
    """zensical.toml."""
    return f"""[project]
site_name = "Eddy"
site_description = "Joins many live streams at once, and keeps changing to the best join order while it runs"
docs_dir = "pages"
site_dir = "site"
use_directory_urls = false
extra_css = ["site.css"]
nav = [
{nav(all_pages)}
]
[project.theme]
font = false
features = ["navigation.indexes", "navigation.top", "content.code.copy", "search.highlight"]
[[project.theme.palette]]
scheme = "default"
media = "(prefers-color-scheme: light)"
[[project.theme.palette]]
scheme = "slate"
media = "(prefers-color-scheme: dark)"
[project.plugins.mkdocstrings.handlers.python]
paths = [{json.dumps(str(ROOT))}]
[project.plugins.mkdocstrings.handlers.python.options]
show_source = false
show_root_heading = true
show_root_full_path = false
show_signature_annotations = true
show_if_no_docstring = true
merge_init_into_class = true
show_attribute_values = false
show_labels = false
members_order = "source"
heading_level = 3
"""


def in_html(text: str) -> str:
    """A page as Python's Markdown is to read it. In a row of a table it shows the backslash of `a \\| b`."""
    return ROW.sub(lambda row: CODE.sub(_with_bars, row[0]), text)


def _with_bars(found: re.Match[str]) -> str:
    return f"<code>{html.escape(found[1]).replace(BAR, '&#124;')}</code>" if BAR in found[1] else found[0]


def in_text(text: str) -> str:
    """A page for programs, which take a line as it stands."""
    return ROW.sub(lambda row: CODE.sub(lambda found: found[0].replace(BAR, "|"), row[0]), text)


def contents(all_pages: dict[str, str]) -> str:
    """llms.txt: what is where, by chapters, each page with its title and what it begins with."""
    lines = ["# Eddy", "", f"> {first_sentence(all_pages['index.md'])}", ""]
    for chapter, names in chapters(all_pages).items():
        lines += [f"## {chapter}", ""]
        for name in names:
            said = "" if name == "index.md" else first_sentence(all_pages[name])
            lines += [f"- [{title(all_pages[name], name)}]({name}){': ' + said if said else ''}"]
        lines += [""]
    return "\n".join(lines)


def first_sentence(text: str) -> str:
    """Of the first paragraph, without its links and emphasis."""
    for paragraph in re.split(r"\n\s*\n", FENCE.sub("", text)):
        if re.match(r"\s*[^\s#|!<*-]", paragraph):
            words = LINK.sub(lambda found: found[2], " ".join(paragraph.split()))
            return re.sub(":$", ".", re.split(r"(?<=[.?!])\s+(?=[A-Z`*])", words)[0])
    return ""


def write_pages(made: dict[str, str], folder: Path) -> None:
    """What zensical reads."""
    shutil.rmtree(folder / "pages", ignore_errors=True)
    for name, text in made.items():
        path = folder / "pages" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(in_html(text), encoding="utf-8")
    for inside in ("pictures", "results"):
        for picture in (ROOT / "docs" / inside).glob("*.[ps][nv]g"):
            (folder / "pages" / inside).mkdir(exist_ok=True)
            shutil.copy(picture, folder / "pages" / inside / picture.name)
    (folder / "pages" / "site.css").write_text(STYLES, encoding="utf-8")
    (folder / "zensical.toml").write_text(configuration(made), encoding="utf-8")


def write_texts(made: dict[str, str], folder: Path) -> None:
    """What programs read."""
    texts = made | {"api.md": reference.text()}
    for name, text in texts.items():
        path = folder / "site" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(in_text(text), encoding="utf-8")
    (folder / "site" / "llms.txt").write_text(contents(texts), encoding="utf-8")


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser("docs/site.py", description=__doc__)
    parser.add_argument("--serve", action="store_true", help="on this machine, and again when a page changes")
    parser.add_argument("--into", type=Path, default=ROOT / "build", help="build, if nothing is given")
    given = parser.parse_args(arguments)
    made = pages()
    write_pages(made, given.into)
    command = ["serve"] if given.serve else ["build", "--strict"]
    done = subprocess.run([sys.executable, "-m", "zensical", *command], cwd=given.into, check=False)
    if not done.returncode:
        write_texts(made, given.into)
        print(f"{len(made)} pages in {given.into / 'site'}")
    return done.returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

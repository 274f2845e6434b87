"""The site: `python docs/site.py [--serve]` makes it in build/site, of the README and the pages of this folder.

Pages are put together in build/pages first. Links to files that are no pages become their names: the site has no
sources. `api.md` is made of docstrings, and every page is there as plain Markdown too, with a list, `llms.txt`. It is
built by zensical, which is alive, refuses links that lead nowhere (`--strict`), and reads docstrings by mkdocstrings.
"""

from __future__ import annotations

import importlib
import inspect
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
PAGES, SITE = ROOT / "build" / "pages", ROOT / "build" / "site"
LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)\s]+)\)")
NAV = {
    "Begin": "tutorial setup run examples shell watch",
    "Queries": "queries sql expressions types outer differences operators time",
    "In Python": "pushing several plans inspecting saving inputs api",
    "Operate": "operations monitoring tuning memory kafka brokers postgresql http scaling spark limits",
    "How it works": "exact migration routing feedback stairs printed architecture",
    "Research": "extending benchmarks nexmark tpch results",
}
"""Pages by chapter; what is not there is passed over, and what is in no chapter comes last."""

MODULES = {
    "eddy": "Queries, engines, runs, results.",
    "policies": "Who chooses plans, how they are changed, what waits: [when to use which](plans.md).",
    "eddy.partition": "Which rows must meet: [more than one core](scaling.md).",
    "eddy.spark": "[DataFrames](spark.md) through partitions of engines.",
}
"""What the reference has."""


def pages() -> dict[str, str]:
    """The text of each page by its path: the README is the first."""
    found = {"index.md": (ROOT / "README.md").read_text(encoding="utf-8")}
    docs = ROOT / "docs"
    for path in sorted(docs.rglob("*.md")):
        name = path.relative_to(docs).as_posix()
        found["results/index.md" if name == "results/README.md" else name] = path.read_text(encoding="utf-8")
    found["api.md"] = api()
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
        return f"{picture}[{label}]({up}{inside}{'#' + anchor if anchor else ''})"

    parts = re.split(r"(^```.*?^```$)", text, flags=re.MULTILINE | re.DOTALL)
    return "".join(part if part.startswith("```") else LINK.sub(link, part) for part in parts)


def public() -> dict[str, list[tuple[str, Any]]]:
    """Every public name with what it stands for, by module."""
    found = {}
    for module in MODULES:
        names = sorted(importlib.import_module(module).__all__, key=str.lower)
        found[module] = [(name, getattr(importlib.import_module(module), name)) for name in names]
    return found


def api() -> str:
    """Every public name, from its docstring, as mkdocstrings reads it."""
    lines = ["# Reference", ""]
    for module, names in public().items():
        lines += [f"## {module}", "", MODULES[module], ""]
        for name, value in names:
            if callable(value):
                lines += [f"::: {value.__module__}.{value.__qualname__}", ""]
            else:
                lines += [f"### `{name} = {value!r}`", ""]
    return "\n".join(lines)


def api_text() -> str:
    """The same as plain Markdown: what has no mkdocstrings reads this."""
    lines = ["# Reference", ""]
    for module, names in public().items():
        lines += [f"## {module}", "", MODULES[module], ""]
        for name, value in names:
            if not callable(value):
                lines += [f"### {name} = {value!r}", ""]
                continue
            lines += [f"### {name}{signed(value)}", "", inspect.getdoc(value) or "", ""]
            for method, of in vars(value).items() if inspect.isclass(value) else ():
                what = of.fget if isinstance(of, property) else getattr(of, "__func__", of)
                if not method.startswith("_") and inspect.isfunction(what) and what.__doc__:
                    shown = "" if isinstance(of, property) else signed(what)
                    lines += [f"- `{method}{shown}`: {' '.join(inspect.getdoc(what).split())}"]
            lines += [""]
    return "\n".join(lines)


class Written(str):
    """An annotation, which is shown as it stands in the source."""

    __slots__ = ()
    __repr__ = str.__str__


def signed(value: Any) -> str:
    """What it takes, as Python writes it."""
    try:
        found = inspect.signature(value.__init__ if inspect.isclass(value) else value)
    except (TypeError, ValueError):
        return ""
    taken = [
        one.replace(annotation=Written(one.annotation)) if isinstance(one.annotation, str) else one
        for one in list(found.parameters.values())[inspect.isclass(value) :]
    ]
    gives = inspect.Signature.empty if inspect.isclass(value) else found.return_annotation
    gives = Written(gives) if isinstance(gives, str) else gives
    return str(inspect.Signature(taken, return_annotation=gives))


def nav(all_pages: dict[str, str]) -> str:
    """The chapters, as zensical has them."""
    left = dict.fromkeys(name for name in all_pages if not name.startswith("results/") and name != "index.md")
    lines = ['  {"Eddy" = "index.md"},']
    for chapter, names in NAV.items():
        there = []
        for name in names.split():
            page = "results/index.md" if name == "results" else f"{name}.md"
            if page in all_pages:
                left.pop(page, None)
                there.append(page)
        if chapter == "Research":
            there += [page for page in all_pages if page.startswith("results/") and page not in there]
        lines.append(f'  {{"{chapter}" = [{", ".join(f"{chr(34)}{page}{chr(34)}" for page in there)}]}},')
    if left:
        raise SystemExit(f"docs/site.py: no chapter has {', '.join(left)}: add it to NAV")
    return "\n".join(lines)


def configuration(all_pages: dict[str, str]) -> str:
    """zensical.toml."""
    return f"""[project]
site_name = "Eddy"
site_description = "Joins many live streams at once, and keeps changing to the best join order while it runs"
docs_dir = "pages"
site_dir = "site"
use_directory_urls = false
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
paths = [".."]
[project.plugins.mkdocstrings.handlers.python.options]
show_source = false
show_root_heading = true
show_root_full_path = false
show_signature_annotations = true
heading_level = 3
"""


def main(arguments: list[str]) -> int:
    shutil.rmtree(PAGES, ignore_errors=True)
    made = pages()
    for name, text in made.items():
        path = PAGES / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    for folder in ("pictures", "results"):
        for picture in (ROOT / "docs" / folder).glob("*.[ps][nv]g"):
            (PAGES / folder).mkdir(exist_ok=True)
            shutil.copy(picture, PAGES / folder / picture.name)
    (PAGES.parent / "zensical.toml").write_text(configuration(made), encoding="utf-8")
    command = "serve" if "--serve" in arguments else "build"
    strict = ["--strict"] if command == "build" else []
    done = subprocess.run([sys.executable, "-m", "zensical", command, *strict], cwd=PAGES.parent, check=False)
    if done.returncode:
        return done.returncode
    titles = {
        name: (re.search(r"^# (.*)$", text, re.MULTILINE) or ["", name])[1] for name, text in made.items()
    }
    for name, text in made.items():  # for programs that read Markdown
        (SITE / name).parent.mkdir(parents=True, exist_ok=True)
        (SITE / name).write_text(api_text() if name == "api.md" else text, encoding="utf-8")
    lines = [
        "# Eddy",
        "",
        "> Joins many live streams at once, in Python, and changes to the best join order while it runs.",
        "",
    ]
    lines += [f"- [{titles[name]}]({name})" for name in made]
    (SITE / "llms.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    print(f"{len(made)} pages in {SITE}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

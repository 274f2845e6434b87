"""The reference: every public name, as a page for mkdocstrings and as plain Markdown."""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import attrs
import griffe

ROOT = Path(__file__).parents[1]
PACKAGES = ("eddy", "policies", "stairs")
MODULES = {
    "eddy": "Queries, engines, runs, results.",
    "policies": "Who chooses plans, how they are changed, what waits: [when to use which](plans.md).",
    "eddy.partition": "Which rows must meet: [more than one core](scaling.md).",
    "eddy.spark": "[DataFrames](spark.md) through partitions of engines.",
}
"""What the reference has."""

SHORT = 100
"""Characters of a signature that is shown in any case."""
INTRODUCTION = "Every public name of the packages, as its docstring describes it."


def public() -> dict[str, list[tuple[str, Any]]]:
    """Every public name with what it stands for, by module."""
    found = {}
    for module in MODULES:
        names = sorted(importlib.import_module(module).__all__, key=str.lower)
        found[module] = [(name, getattr(importlib.import_module(module), name)) for name in names]
    return found


def page() -> str:
    """The reference as mkdocstrings takes it. Bases are shown where the reader can look them up: here or in Python."""
    everything = public()
    known = {value for names in everything.values() for _, value in names if inspect.isclass(value)}
    lines = ["# Reference", "", INTRODUCTION, ""]
    for module, names in everything.items():
        lines += [f"## {module}", "", MODULES[module], ""]
        for name, value in names:
            if not callable(value):
                lines += [f"### `{name} = {value!r}`", ""]
                continue
            lines += [f"::: {value.__module__}.{value.__qualname__}"]
            if inspect.isclass(value):
                outside = not all(base in known or base.__module__ == "builtins" for base in value.__bases__)
                lines += ["    options:", *(["      show_bases: false"] if outside else [])]
                lines += [f"      members: {_members(value)}"]
                lines += [f"      inherited_members: {[one.name for one in _fields(value)]}"]
            lines += [""]
    return "\n".join(lines)


def text() -> str:
    """The same as plain Markdown: for programs, which have no mkdocstrings."""
    lines = ["# Reference", "", INTRODUCTION, ""]
    for module, names in public().items():
        lines += [f"## {module}", "", MODULES[module], ""]
        for name, value in names:
            if not callable(value):
                lines += [f"### {name} = {value!r}", ""]
            elif inspect.isclass(value):
                lines += [*_class(name, value), ""]
            else:
                lines += [f"### {name}{signed(value)}", "", inspect.getdoc(value) or "", ""]
    return "\n".join(lines)


def _class(name: str, kind: type) -> Iterator[str]:
    """A class: how it is made, its fields with their defaults, its properties and methods. How it is made is left out
    of errors, which take a text, and where it is long and the fields tell it."""
    fields, made = _fields(kind), signed(kind)
    told = len(made) > SHORT and fields and set(inspect.signature(kind).parameters) <= _settable(kind)
    yield f"### {name}{'' if told or issubclass(kind, BaseException) else made}"
    yield ""
    yield inspect.getdoc(kind) or ""
    yield ""
    for one in fields:
        said = _said(kind, one.name)
        yield f"- `{one.name}: {_annotation(one)}{_default(one)}`{': ' + said if said else ''}"
    for name in _members(kind)[len(fields) :]:
        of = vars(kind)[name]
        what = getattr(of, "__func__", of)
        yield f"- `{name}{signed(what) if inspect.isfunction(what) else ''}`: {_said(kind, name)}"


def _members(kind: type) -> list[str]:
    """What is shown of a class: its fields, those of its bases too, and what has a docstring in itself."""
    fields = [one.name for one in _fields(kind)]
    return fields + [
        name for name in vars(kind) if not name.startswith("_") and name not in fields and _said(kind, name)
    ]


def _fields(kind: type) -> list[attrs.Attribute[Any]]:
    """What an object of an attrs class says of itself."""
    if not attrs.has(kind):
        return []
    return [one for one in attrs.fields(kind) if not one.name.startswith("_")]


def _settable(kind: type) -> set[str]:
    return {one.alias for one in attrs.fields(kind) if one.alias} if attrs.has(kind) else set()


def _annotation(one: attrs.Attribute[Any]) -> str:
    return one.type if isinstance(one.type, str) else getattr(one.type, "__name__", str(one.type))


def _default(one: attrs.Attribute[Any]) -> str:
    if one.default is attrs.NOTHING or not one.init:
        return ""
    if isinstance(one.default, attrs.Factory):  # type: ignore[arg-type]
        made = one.default.factory
        return f" = {made.__name__}()" if not one.default.takes_self and inspect.isclass(made) else " = ..."
    return f" = {one.default!r}"


def _said(kind: type, field: str) -> str:
    """What the docstring of a member says: in the class, or, of a field, in the base that it is from."""
    for of in (one for one in kind.__mro__ if one.__module__.partition(".")[0] in PACKAGES):
        package, *rest = f"{of.__module__}.{of.__qualname__}".split(".")
        member = _package(package)[".".join(rest)].members.get(field)
        if member is not None:
            return _one_line(member.docstring.value) if member.docstring else ""
    return ""


@cache
def _package(name: str) -> griffe.Module:
    """The sources of a package, read but not run."""
    return griffe.load(name, search_paths=[ROOT])


def _one_line(said: str) -> str:
    return re.sub(r"\s+", " ", said).strip()


class Written(str):
    """An annotation, which is shown as it stands in the source."""

    __slots__ = ()
    __repr__ = str.__str__


def signed(value: Any) -> str:
    """What it takes, as Python writes it; of a method without the object."""
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

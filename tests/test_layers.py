"""Who may import whom, and what is installed. Read from the sources: nothing is imported here."""

from __future__ import annotations

import ast
import configparser
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
LAYERS = ("stairs", "policies", "eddy")
ALLOWED = {"stairs": set(), "policies": {"stairs"}, "eddy": {"stairs", "policies"}}
"""For each package the others that it may import when it runs."""

ROOMS = {
    "eddy": (
        "log values query plan intake reorder store tracks feedback router difference aggregate results attachments "
        "migration boxes steering inspect partition fast threads snapshot engine several printed spark connect "
        "sources sinks monitoring page running shell demo command"
    ).split(),
    "stairs": ["lowlevel", "", "feedback"],
    "policies": ["", "optimizer", "feedback", "migration", "routing"],
}
"""The rooms of each package in their order: a module imports from its own room and from those before it. In `eddy` the
modules that are in no room come first, but for the doors below."""
DOORS = {"eddy/__init__.py", "eddy/compiling.py", "eddy/cli.py", "stairs/__init__.py", "policies/__init__.py"}
"""Modules that gather what others offer: these import from every room."""
LATER = {
    ("eddy/partition/__init__.py", "engine"),
    ("eddy/engine/eddy.py", "page"),
    ("eddy/engine/eddy.py", "several"),
    ("eddy/several/shared_eddy.py", "page"),
    ("stairs/lowlevel/lanes.py", ""),
    ("stairs/lowlevel/texts.py", ""),
}
"""What a module may import beyond that: a façade that loads what it offers when it is asked for, and the decorator that
compiles kernels."""
STATE = "eddy/state.py"
"""What rooms share: it names their types, and imports from none of them."""
MOST = 12
"""Modules that lie directly in `eddy/`, at most."""

OUTSIDE = {"tests", "benchmarks"}


def imports(source: str, package: str) -> set[tuple[str, bool]]:
    """The top-level packages that a module of ``package`` imports, and whether for the type checker only."""
    found: set[tuple[str, bool]] = set()

    def visit(node: ast.AST, typing_only: bool) -> None:
        if isinstance(node, ast.If) and ast.unparse(node.test) in ("TYPE_CHECKING", "typing.TYPE_CHECKING"):
            for child in node.body:
                visit(child, True)
            for child in node.orelse:
                visit(child, typing_only)
            return
        if isinstance(node, ast.Import):
            found.update((alias.name.split(".")[0], typing_only) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            found.add((package if node.level else (node.module or "").split(".")[0], typing_only))
        for child in ast.iter_child_nodes(node):
            visit(child, typing_only)

    visit(ast.parse(source), False)
    return found


def offences(source: str, package: str) -> set[str]:
    """The packages of ours that this source imports and may not. Only `policies` may name `eddy` in types."""
    ours = {
        (name, typing) for name, typing in imports(source, package) if name in {*LAYERS, *OUTSIDE} - {package}
    }
    return {
        name
        for name, typing_only in ours
        if name not in ALLOWED[package] and not (typing_only and (package, name) == ("policies", "eddy"))
    }


def modules() -> list[Path]:
    return [path for layer in LAYERS for path in sorted((ROOT / layer).rglob("*.py"))]


def room_of(path: Path) -> tuple[str, str]:
    """The package and the room of a module."""
    parts = path.relative_to(ROOT).parts
    return parts[0], parts[1] if len(parts) > 2 else ""


def room_imports(path: Path) -> set[tuple[str, bool]]:
    """The rooms of its own package that a module imports from, and whether for the type checker only."""
    package, _ = room_of(path)
    found: set[tuple[str, bool]] = set()

    def visit(node: ast.AST, typing_only: bool) -> None:
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            for child in node.body:
                visit(child, True)
            return
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        for name in names:
            parts = name.split(".")
            if parts[0] == package and len(parts) > 1:
                found.add((parts[1] if (ROOT / package / parts[1]).is_dir() else "", typing_only))
        for child in ast.iter_child_nodes(node):
            visit(child, typing_only)

    visit(ast.parse(path.read_text()), False)
    return found


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(ROOT)))
def test_a_module_imports_from_rooms_before_its_own(path):
    """The rooms of a package have an order, and imports follow it."""
    package, room = room_of(path)
    name = path.relative_to(ROOT).as_posix()
    if name in DOORS:
        return
    order = ROOMS[package] if "" in ROOMS[package] else ["", *ROOMS[package]]
    for other, typing_only in room_imports(path):
        later = order.index(other) > order.index(room)
        allowed = (name, other) in LATER or (typing_only and name == STATE)
        assert not later or allowed, f"{name} imports from {other or package}"


@pytest.mark.parametrize("package", LAYERS)
def test_every_room_has_its_place_and_says_what_it_is(package):
    """A folder with modules is in the list above, and its docstring says what lives there and what it may import."""
    rooms = {path.parent for path in modules() if path.relative_to(ROOT).parts[0] == package} - {
        ROOT / package
    }
    assert {room.name for room in rooms} == {room for room in ROOMS[package] if room}
    for room in rooms:
        text = ast.get_docstring(ast.parse((room / "__init__.py").read_text())) or ""
        assert len(text) > 60, room
        assert "May import:" in text, room


def test_few_modules_lie_in_no_room():
    """What lies directly in `eddy/` can be seen at a glance."""
    assert len(list((ROOT / "eddy").glob("*.py"))) <= MOST


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(ROOT)))
def test_a_module_imports_only_lower_layers(path):
    """`stairs` imports neither of the others, `policies` only `stairs`, and none what is not installed."""
    assert offences(path.read_text(), path.relative_to(ROOT).parts[0]) == set()


@pytest.mark.parametrize(
    "package, source, wrong",
    [
        ("stairs", "import numpy, stairs.ring", set()),
        ("stairs", "import eddy.plan as plan", {"eddy"}),
        ("stairs", "def f():\n    from policies.routing import Fixed", {"policies"}),
        ("stairs", "if TYPE_CHECKING:\n    from eddy import Eddy", {"eddy"}),
        ("policies", "from stairs import Stair\nfrom .base import Routing", set()),
        ("policies", "import typing\nif typing.TYPE_CHECKING:\n    from eddy.plan import Plan", set()),
        ("policies", "if TYPE_CHECKING:\n    pass\nelse:\n    import eddy", {"eddy"}),
        ("policies", "try:\n    from eddy import Eddy\nexcept ImportError:\n    pass", {"eddy"}),
        ("eddy", "import stairs, policies", set()),
        ("eddy", "from tests.naive import join", {"tests"}),
    ],
)
def test_the_rule_itself(package, source, wrong):
    """The check sees imports wherever they stand, so its silence means something."""
    assert offences(source, package) == wrong


def test_the_packages_are_listed_and_tests_and_benchmarks_are_not_installed():
    """Every package of the three, and no other, is in `setup.cfg`; each of the three says it is typed."""
    setup = configparser.ConfigParser()
    setup.read(ROOT / "setup.cfg")
    listed = setup["options"]["packages"].split()
    on_disk = {
        ".".join(path.parent.relative_to(ROOT).parts)
        for layer in LAYERS
        for path in (ROOT / layer).rglob("__init__.py")
    }
    assert sorted(listed) == sorted(on_disk)
    assert {name.split(".")[0] for name in listed} == set(LAYERS)
    for layer in LAYERS:
        assert setup["options.package_data"][layer].split(",")[0] == "py.typed"
        assert (ROOT / layer / "py.typed").is_file()


def test_a_folder_of_modules_is_a_package():
    """A folder without `__init__.py` would work here and be missing once installed."""
    assert [path for path in modules() if not (path.parent / "__init__.py").is_file()] == []


@pytest.mark.parametrize("room", ROOMS["eddy"])
def test_a_room_says_what_it_imports(room):
    """The list in its docstring names every room that its modules import from, or says that it may import all."""
    text = ast.get_docstring(ast.parse((ROOT / "eddy" / room / "__init__.py").read_text())) or ""
    said = text.split("May import:")[1]
    if "everything" in said:
        return
    used = set()
    for path in (ROOT / "eddy" / room).glob("*.py"):
        used |= {other for other, _ in room_imports(path)} - {room, ""}
    loaded_later = {other for name, other in LATER if name == f"eddy/{room}/__init__.py"}
    assert {other for other in used - loaded_later if other not in said} == set()

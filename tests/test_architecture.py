"""The rooms of the house: imports point down only."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

SRC = Path(__file__).parent.parent / "src" / "talops"
FOUNDATION = {"errors", "events", "waiting", "redaction", "guard", "files", "generated"}
# Small helpers around one library, for the rooms that would otherwise each have their own.
HELPERS = {"quickyaml"}
PURE = {"inventory", "render", "machineconfig", "gitops"}
CLIENTS = {"tofu", "talos", "proxmox", "kube", "secrets", "truenas", "statestore", "toolchain"}
# Wire definitions that a client and its simulator may share; nothing else may.
WIRE = {"talos.wire"}

ALLOWED: dict[str, set[str]] = {
    **{room: set() for room in FOUNDATION | HELPERS},
    "files": {"errors", "guard"},
    "generated": {"errors", "files"},
    "waiting": {"errors"},
    "inventory": FOUNDATION,
    "render": FOUNDATION | {"inventory"},
    "machineconfig": FOUNDATION | {"inventory"},
    "gitops": FOUNDATION | {"inventory"},
    **dict.fromkeys(CLIENTS, FOUNDATION | HELPERS),
    "pipeline": FOUNDATION,
    "site": FOUNDATION | PURE | CLIENTS | {"pipeline"},
    "delivery": FOUNDATION | PURE | CLIENTS | {"pipeline", "site"},
    "adoption": FOUNDATION | PURE | CLIENTS,
    "checks": FOUNDATION | PURE | CLIENTS | {"pipeline", "site", "delivery"},
    "stages": FOUNDATION | PURE | CLIENTS | {"pipeline", "site", "delivery", "adoption", "checks"},
    "views": FOUNDATION | {"pipeline", "inventory"},
    "lab": FOUNDATION | WIRE,
}
ALLOWED["workflows"] = {*ALLOWED["stages"], "stages"}
ALLOWED["app"] = {*ALLOWED["workflows"], "workflows", "views"}
ALLOWED["cli"] = {*ALLOWED, "lab", "web"}
ALLOWED["web"] = {*ALLOWED} - {"lab", "cli"}

GENERATED = re.compile(r"_pb2\.py$|_grpc\.py$")
MOST_SIBLINGS = 25
FILES = sorted(SRC.rglob("*.py"))


def room_of(path: Path) -> str:
    return path.relative_to(SRC).with_suffix("").parts[0]


def imported_modules(path: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return {name.removeprefix("talops.") for name in found if name.startswith("talops.")}


def permitted(room: str, target: str) -> bool:
    if target.startswith("__version__") or target.split(".", maxsplit=1)[0] == room:
        return True
    return any(target == ok or target.startswith(f"{ok}.") for ok in ALLOWED.get(room, set()))


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(SRC)))
def test_imports_point_down(path: Path) -> None:
    """No module imports from a room above or beside its own."""
    room = room_of(path)
    if room in {"__init__", "__main__"}:
        return
    wrong = {target for target in imported_modules(path) if not permitted(room, target)}
    assert not wrong, f"{room} must not import {sorted(wrong)}"


def test_every_room_is_known() -> None:
    """A new folder is a decision: it gets its place in the table above."""
    rooms = {room_of(p) for p in FILES} - {"__init__", "__main__"}
    assert rooms <= set(ALLOWED), rooms - set(ALLOWED)


def test_foundation_needs_only_the_standard_library() -> None:
    """Everything else stands on these files, so they stand on nothing."""
    import sys

    for name in FOUNDATION:
        tree = ast.parse((SRC / f"{name}.py").read_text(encoding="utf-8"))
        names = {n.module for n in ast.walk(tree) if isinstance(n, ast.ImportFrom) and n.module}
        names |= {a.name for n in ast.walk(tree) if isinstance(n, ast.Import) for a in n.names}
        foreign = {n.split(".")[0] for n in names} - sys.stdlib_module_names - {"talops"}
        assert not foreign, f"{name} imports {foreign}"


def test_folders_stay_readable() -> None:
    """More than 25 files in a folder tell nothing: it becomes rooms of its own."""
    crowded = {}
    for root in (SRC, SRC.parent.parent / "tests"):
        for folder in {path.parent for path in root.rglob("*.py")}:
            count = len([p for p in folder.glob("*.py") if not GENERATED.search(p.name)])
            if count > MOST_SIBLINGS:
                crowded[str(folder.relative_to(SRC.parent.parent))] = count
    assert not crowded

"""The rooms of the house: imports point down only."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests import contracts, purity

if TYPE_CHECKING:
    from collections.abc import Iterable

SRC = Path(__file__).parent.parent / "src" / "talops"
FOUNDATION = {
    "approval",
    "environment",
    "errors",
    "events",
    "waiting",
    "redaction",
    "guard",
    "files",
    "generated",
    "gitcommand",
    "inside",
    "journal",
    "layer",
    "origin",
    "plural",
    "problems",
    "shapes",
    "talosconfig",
    "visible",
}
# Small helpers around one library, for the rooms that would otherwise each have their own.
HELPERS = {"answersize", "quickyaml"}
PURE = {"inventory", "render", "machineconfig", "gitops", "nodeplan"}
CLIENTS = {"tofu", "talos", "proxmox", "kube", "secrets", "truenas", "statestore", "toolchain"}
# Wire definitions that a client and its simulator may share; nothing else may.
WIRE = {"talos.wire"}

ALLOWED: dict[str, set[str]] = {
    **{room: set() for room in FOUNDATION | HELPERS},
    "files": {"errors", "guard"},
    "generated": {"errors", "inside", "journal"},
    "inside": {"errors", "files"},
    "journal": {"errors", "files", "inside", "origin"},
    "talosconfig": {"redaction"},
    "waiting": {"errors"},
    "inventory": FOUNDATION | HELPERS,
    "render": FOUNDATION | {"inventory"},
    "machineconfig": FOUNDATION | {"inventory"},
    "gitops": FOUNDATION | {"inventory"},
    "nodeplan": FOUNDATION | {"inventory"},
    **dict.fromkeys(CLIENTS, FOUNDATION | HELPERS),
    "pipeline": FOUNDATION,
    "site": FOUNDATION | PURE | CLIENTS | {"pipeline"},
    "delivery": FOUNDATION | HELPERS | PURE | CLIENTS | {"pipeline", "site"},
    "adoption": FOUNDATION | PURE | CLIENTS,
    "checks": FOUNDATION | HELPERS | PURE | CLIENTS | {"pipeline", "site", "delivery", "backups"},
    "rolls": FOUNDATION | PURE | CLIENTS | {"pipeline", "site"},
    "backups": FOUNDATION | PURE | CLIENTS | {"pipeline", "site"},
    "upgrades": FOUNDATION | PURE | CLIENTS | {"pipeline", "site", "rolls"},
    "reconfigure": FOUNDATION | PURE | CLIENTS | {"pipeline", "site", "rolls"},
    "rotation": FOUNDATION | PURE | CLIENTS | {"pipeline", "site", "rolls", "reconfigure"},
    "importing": FOUNDATION | HELPERS | PURE,
    "stages": FOUNDATION
    | PURE
    | CLIENTS
    | {"pipeline", "site", "delivery", "adoption", "checks", "rolls", "upgrades", "reconfigure"}
    | {"importing", "backups", "rotation"},
    "views": FOUNDATION | {"pipeline", "inventory"},
    "lab": FOUNDATION | WIRE,
}
ALLOWED["workflows"] = {*ALLOWED["stages"], "stages"}
ALLOWED["app"] = {*ALLOWED["workflows"], "workflows", "views"}
# Plain values of runs and of sites, which faces read and views show.
VALUES = {
    *(f"pipeline.{name}" for name in ("approving", "checks", "compare", "history")),
    *("pipeline.planning", "pipeline.result", "backups.manifest"),
    "backups.retention",
    *("pipeline.interrupt", "pipeline.run", "pipeline.selection", "site.site", "tofu.policy"),
}
ALLOWED["web"] = FOUNDATION | HELPERS | PURE | VALUES | {"app", "views"}
ALLOWED["cli"] = {*ALLOWED["web"], "lab", "web"}
# Commands that are thin calls of one client, without a run. The list only becomes shorter.
CLIENT_COMMANDS: dict[str, set[str]] = {
    "cli/backup": {"toolchain"},
    "cli/host": {"proxmox", "site.proxmox.wanted"},
    "cli/infra": {"tofu.events"},
    "cli/lab": {"secrets.init", "secrets.vault", "toolchain"},
    "cli/secrets": {"secrets"},
    "cli/state": {"statestore", "site.run_lock"},
    "cli/talos": {"talos", "site.secrets_file", "site.written_configs"},
    "cli/tools": {"toolchain"},
}

GENERATED = re.compile(r"_pb2\.py$|_grpc\.py$")
MOST_SIBLINGS = 25
FILES = sorted(SRC.rglob("*.py"))
LONE = sorted(SRC.glob("*.py"))
TESTS = Path(__file__).parent


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


def within(name: str, names: Iterable[str], end: str = ".") -> bool:
    return any(name == each or name.startswith(f"{each}{end}") for each in names)


def permitted(path: Path, target: str) -> bool:
    room = room_of(path)
    if target.startswith("__version__") or target.split(".", maxsplit=1)[0] == room:
        return True
    name = str(path.relative_to(SRC))
    own = {
        ok for part, rooms in CLIENT_COMMANDS.items() if within(name, [part], "/") for ok in rooms
    }
    return within(target, ALLOWED.get(room, set()) | own)


def parsed(*folders: str) -> dict[str, ast.Module]:
    paths = [path for folder in folders for path in sorted((SRC / folder).rglob("*.py"))]
    return {str(p.relative_to(SRC)): ast.parse(p.read_text(encoding="utf-8")) for p in paths}


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(SRC)))
def test_imports_point_down(path: Path) -> None:
    """No module imports from a room above or beside its own."""
    room = room_of(path)
    if room in {"__init__", "__main__"}:
        return
    wrong = {target for target in imported_modules(path) if not permitted(path, target)}
    assert not wrong, f"{room} must not import {sorted(wrong)}"


def test_every_room_is_known() -> None:
    """A new folder is a decision: it gets its place in the table above."""
    rooms = {room_of(p) for p in FILES} - {"__init__", "__main__"}
    assert rooms <= set(ALLOWED), rooms - set(ALLOWED)


def test_client_commands_are_needed() -> None:
    """An exception that no command uses any more is taken off the list."""
    for part, rooms in CLIENT_COMMANDS.items():
        files = [path for path in FILES if within(str(path.relative_to(SRC)), [part], "/")]
        used = {target for path in files for target in imported_modules(path)}
        idle = {room for room in rooms if not any(within(target, [room]) for target in used)}
        assert not idle, f"{part} does not import {sorted(idle)}"


@pytest.mark.parametrize("room", sorted(set(ALLOWED) - {"cli", "lab"}))
def test_only_faces_read_the_environment_print_and_exit(room: str) -> None:
    """Another face, such as a server with several sites, uses the same code."""
    paths = [path for path in FILES if room_of(path) == room]
    found = {
        str(path.relative_to(SRC)): wrong
        for path in paths
        if (wrong := contracts.of_a_face(ast.parse(path.read_text(encoding="utf-8"))))
    }
    assert not found


WORKFLOWS = {name: tree for name, tree in parsed("workflows").items() if "__init__" not in name}


@pytest.mark.parametrize("name", WORKFLOWS)
def test_workflows_are_literal_lists(name: str) -> None:
    """One file, one function, and its stages can be read in order."""
    assert contracts.not_a_list(WORKFLOWS[name]) == []


def test_stages_are_loaded_late_in_one_way() -> None:
    """`pipeline.later` puts stages off, by the names in `talops.stages`; nothing else does."""
    users = {
        str(path.relative_to(SRC))
        for path in FILES
        if "pipeline.later.Later" in imported_modules(path)
    }
    assert users == {"workflows/up.py"}
    loaders = {
        str(path.relative_to(SRC))
        for path in FILES
        if "import_module(" in path.read_text(encoding="utf-8")
    }
    assert loaders == {
        "cli/app.py",
        "cli/talos/commands.py",
        "inventory/rules/__init__.py",
        "stages/__init__.py",
    }


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


LONGEST_FILE, LONGEST_FUNCTION = 400, 60


def test_files_and_functions_are_short() -> None:
    """One idea per file, and a function that can be seen whole."""
    long = {}
    for path in [*SRC.rglob("*.py"), *TESTS.rglob("*.py")]:
        text = path.read_text(encoding="utf-8")
        if GENERATED.search(path.name):
            continue
        found = contracts.long_functions(ast.parse(text), LONGEST_FUNCTION)
        if (lines := len(text.splitlines())) > LONGEST_FILE:
            found.append(f"has {lines} lines")
        if found:
            long[str(path.relative_to(SRC.parent.parent))] = found
    assert not long


# One class each, for all rooms but the lab, which shares nothing with clients.
CONCEPTS = frozenset(
    [
        *("Cluster", "Consent", "Finding", "Layer", "Node", "Problem", "Run", "RunResult"),
        *("Severity", "Site", "Stage", "Talosconfig", "Verdict", "Waiting"),
    ]
)


def test_each_concept_has_one_type() -> None:
    """Two types for one concept drift apart."""
    rooms = sorted(set(ALLOWED) - {"lab"})
    modules = {**parsed(*rooms), **{path.stem: ast.parse(path.read_text("utf-8")) for path in LONE}}
    assert contracts.defined_twice(modules, CONCEPTS) == {}


# Stages are built from these rooms; `pipeline` only defines the protocol and `Later`.
WITHOUT_STAGES = sorted(set(ALLOWED) - {"stages", "pipeline", "lab", *FOUNDATION, *HELPERS})
STAGES = contracts.stages_in(parsed("stages").values())


def test_stages_are_in_their_room() -> None:
    """Each file in `stages` defines a stage, and other rooms define none."""
    names = {stage.name for stage in STAGES}
    for path, module in parsed("stages").items():
        own = {node.name for node in module.body if isinstance(node, ast.ClassDef)}
        assert path.endswith("__init__.py") or own & names, f"{path} does not contain a stage"
    assert contracts.stages_in(parsed(*WITHOUT_STAGES).values()) == []


def test_every_stage_inherits_the_protocol() -> None:
    """What looks, decides and applies is a stage, and mypy holds it against the protocol."""
    found = {
        node.name
        for module in parsed("stages", "app").values()
        for node in ast.walk(module)
        if isinstance(node, ast.ClassDef)
        if {"observe", "plan", "apply"} & {f.name for f in node.body if hasattr(f, "name")}
    }
    assert len(found) > 20
    assert found == {stage.name for stage in STAGES}


@pytest.mark.parametrize("stage", STAGES, ids=lambda stage: stage.name)
def test_stages_keep_their_contract(stage: contracts.Source) -> None:
    """`plan` turns facts into changes, `verify` looks; neither remembers, tells or changes."""
    assert contracts.impurities(stage) == []
    assert contracts.effects(stage) == []


def test_the_runner_reads_declared_members_only() -> None:
    """An optional part of a stage has a default in the protocol, never a getattr."""
    pipeline = parsed("pipeline")
    declared = contracts.members_declared(pipeline["pipeline/stage.py"])
    assert {"under_way", "patience", "proven_by_look", "conclude"} <= declared
    for name in ("planning", "runner", "later"):
        read = contracts.members_read(pipeline[f"pipeline/{name}.py"])
        assert read, name
        assert read <= declared, name


# Every room between clients and faces.
BETWEEN = set(ALLOWED) - FOUNDATION - HELPERS - PURE - CLIENTS - {"pipeline", "views", "cli", "lab"}
DECIDING = sorted(path for room in BETWEEN for path in (SRC / room).rglob("*.py"))
TEXTS = frozenset({"detail", "reason", "what", "hint", "actual"})


@pytest.mark.parametrize("path", DECIDING, ids=lambda p: str(p.relative_to(SRC)))
def test_no_decision_is_read_from_a_sentence(path: Path) -> None:
    """Texts are for people: rewording one changes nothing that happens."""
    assert contracts.decided_by_text(ast.parse(path.read_text(encoding="utf-8")), TEXTS) == []


# Where the sentence of a change is passed on to people.
SHOWN = {"app/drift/kubernetes.py", "pipeline/planning.py", "pipeline/stage.py"}


def test_sentences_are_only_shown() -> None:
    """What nothing reads, nothing can depend on: holds for stages that are still to be written."""
    rooms = parsed(*BETWEEN, "pipeline")
    assert {path for path, module in rooms.items() if contracts.reads(module, "detail")} == SHOWN


# Files of the pure rooms that read something, with exactly what they use and why.
LOADERS = {
    # The two files of the inventory.
    "inventory/source.py": {"is_file", "read_bytes", "resolve", "stat"},
    # Whether a patch exists, and inside the directory of the inventory.
    "inventory/patches.py": {"is_file", "resolve"},
    # Whether a file that cluster.yaml names is inside the directory of the inventory.
    "inventory/named_files.py": {"resolve"},
    # Secrets are allowed in a file that git ignores, and only git can say that.
    "inventory/gitignore.py": {"subprocess"},
    # The provider requires the absolute name of a CA file.
    "render/backend.py": {"resolve"},
    # The catalog of releases that is part of the package.
    "gitops/catalog.py": {"read_text"},
}


@pytest.mark.parametrize("room", sorted(PURE))
def test_pure_rooms_are_pure(room: str) -> None:
    """No file, program, connection or environment, except what the named loaders read."""
    found = {path: purity.touches(module) for path, module in parsed(room).items()}
    expected = {path: used for path, used in LOADERS.items() if path.startswith(f"{room}/")}
    assert {path: used for path, used in found.items() if used} == expected


def foundation() -> dict[str, set[str]]:
    sources = {name: (SRC / f"{name}.py").read_text("utf-8") for name in FOUNDATION | HELPERS}
    return {name: purity.touches(ast.parse(text)) for name, text in sources.items()}


def test_the_foundation_touches_little() -> None:
    """Files, generated files, the guard, answers and waits; the others only compute."""
    assert {name for name, used in foundation().items() if used} == {
        "answersize",
        "files",
        "generated",
        "guard",
        "inside",
        "journal",
        "origin",
        "waiting",
    }
    assert foundation()["waiting"] == {"asyncio"}
    assert foundation()["answersize"] == {"httpx"}


# Fixed ports on an address that no other test uses, and why.
OWN_ADDRESS = {
    # The port is the claim on the whole network.
    "lab/talos/harness.py",
    # The port of Proxmox itself is the subject of the test.
    "lab/test_world.py",
}


def sources_of_tests() -> dict[str, ast.Module]:
    paths = [path for path in TESTS.rglob("*.py") if "bench" not in path.parts]
    return {str(p.relative_to(TESTS)): ast.parse(p.read_text("utf-8")) for p in sorted(paths)}


def test_tests_wait_for_conditions_and_listen_on_free_ports() -> None:
    """A fixed time is too long here and too short there; a fixed port is taken somewhere."""
    sources = sources_of_tests()
    assert len(sources) > 200
    assert {path: found for path, m in sources.items() if (found := purity.fixed_sleeps(m))} == {}
    assert {path for path, module in sources.items() if purity.fixed_ports(module)} == OWN_ADDRESS

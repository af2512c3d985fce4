"""Hostile names in every string of an inventory lead nowhere outside the directory (row 3)."""

from __future__ import annotations

import copy
import io
import itertools
import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
from ruamel.yaml import YAML
from tests.examples import EXAMPLES
from tests.security.local.hostile import PRECIOUS

from talops.inventory.jsonschema import cluster_schema, nodes_schema

if TYPE_CHECKING:
    import random
    from collections.abc import Iterator
    from pathlib import Path

    from talops.machineconfig.secrets.bundle import Bundle

FILES = ("cluster.yaml", "nodes.yaml")
SCHEMAS = {"cluster.yaml": cluster_schema, "nodes.yaml": nodes_schema}
# The example that gets every key that the schema has and no example uses.
FULLEST = "ha"
PARTS = 8
# Up from the directory of a layer, of a config and of the inventory; absolute; through a symlink.
NAMES = (
    "../victim/file",
    "../../victim/file",
    "../../../victim/file",
    "../../../../victim/file",
    "{victim}/file",
    "a/../../../../victim/file",
    "linked/file",
    "~/file",
    "$(touch {victim}/made)",
    "..",
    "-C{victim}",
    'x" }} data "local_file" "x" {{ filename = "{victim}/file',
    "${{file('{victim}/file')}}",
)
# Everything that opens a file of the victim, and everything that changes one outside of the clone.
WATCHED = """
import json, os, sys
victim, log, roots = os.path.realpath(sys.argv[1]), sys.argv[2], sys.argv[3:]
from talops.cli.app import run
CHANGES = {"os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.link", "os.symlink",
           "os.truncate", "os.chmod", "os.chown", "shutil.rmtree"}
WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC
found, here, codes, busy = [], "", {}, False
def inside(real, folder):
    return real == folder or real.startswith(folder + os.sep)
def look(event, args):
    paths = [os.fsdecode(p) for p in args[:2] if isinstance(p, (str, bytes)) and p]
    if event == "open":
        paths = paths[:1]
    for path in paths:
        real = os.path.realpath(path)
        writes = event in CHANGES or event == "open" and bool((args[2] or 0) & WRITING)
        if inside(real, victim) or writes and not (
            inside(real, here) or real.startswith(("/dev/", "/proc/")) or "__pycache__" in real
        ):
            found.append([event, path, os.path.basename(here)])
def hook(event, args):
    global busy
    if busy or not here or event not in CHANGES | {"open", "os.listdir", "os.scandir"}:
        return
    busy = True
    try:
        look(event, args)
    except (OSError, ValueError):
        pass
    finally:
        busy = False
sys.addaudithook(hook)
for root in roots:
    os.chdir(root)
    here = os.path.realpath(root)
    commands = ("check", "configure --no-init", "talos gen-config", "inventory show")
    codes[root] = [run(words.split()) for words in commands]
here = ""
json.dump([found, codes], open(log, "w"))
"""


def leaves(value: Any, place: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Where a text is; a number or a flag may be a text, too."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from leaves(inner, (*place, key))
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            yield from leaves(inner, (*place, number))
    else:
        yield place


def known_places(schema: Any, definitions: Any, place: tuple[Any, ...] = ()) -> set[Any]:
    """Where the schema allows a text, whether an example has one or not."""
    if name := schema.get("$ref", "").rpartition("/")[2]:
        return known_places(definitions[name], definitions, place)
    found = set()
    for choice in [*schema.get("anyOf", ()), *schema.get("allOf", ())]:
        found |= known_places(choice, definitions, place)
    for key, inner in schema.get("properties", {}).items():
        found |= known_places(inner, definitions, (*place, key))
    if isinstance(inner := schema.get("additionalProperties"), dict):
        found |= known_places(inner, definitions, (*place, "x"))
    if isinstance(inner := schema.get("items"), dict):
        found |= known_places(inner, definitions, (*place, 0))
    if place and (schema.get("type") == "string" or not schema.keys() - {"description", "title"}):
        found.add(place)
    return found


def reach(target: Any, key: Any, empty: Any) -> Any:
    """What is at this key; where an example has nothing, `empty` is put there."""
    if isinstance(target, list):
        target += [empty] * (key + 1 - len(target))
    elif target.get(key) is None or not isinstance(target[key], dict | list):
        target[key] = empty
    return target[key]


def with_name(document: Any, place: tuple[Any, ...], name: str) -> str:
    changed = copy.deepcopy(document)
    target = changed
    for key, after in itertools.pairwise(place):
        target = reach(target, key, [] if isinstance(after, int) else {})
    reach(target, place[-1], name)
    target[place[-1]] = name
    out = io.StringIO()
    YAML(typ="safe").dump(changed, out)
    return out.getvalue()


def variants(victim: Path) -> list[tuple[str, str, str]]:
    """Example, file, and its text with one string replaced, or one key more."""
    found = []
    for example in sorted(EXAMPLES.iterdir()):
        for file in FILES:
            document = YAML(typ="safe").load((example / file).read_text("utf-8"))
            places = set(leaves(document))
            if example.name == FULLEST:
                schema = SCHEMAS[file]()
                places |= known_places(schema, schema["$defs"])
            found += [
                (example.name, file, with_name(document, place, name.format(victim=victim)))
                for place in sorted(places, key=str)
                for name in NAMES
            ]
    return found


def test_nothing_outside_is_opened_or_changed(
    tmp_path: Path, bundle: Bundle, rng: random.Random
) -> None:
    """One string at a time, in all examples; files are rendered and configs written."""
    victim = victim_in(tmp_path)
    attack(tmp_path, rng.sample(variants(victim), 24), bundle)


@pytest.mark.chaos
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("part", range(PARTS))
def test_nothing_outside_by_any_string(tmp_path: Path, bundle: Bundle, part: int) -> None:
    """Every string of the examples, and every one that the schema allows besides."""
    victim = victim_in(tmp_path)
    attack(tmp_path, variants(victim)[part::PARTS], bundle)


def victim_in(folder: Path) -> Path:
    victim = folder / "victim"
    victim.mkdir()
    (victim / "file").write_text(PRECIOUS)
    return victim


def attack(folder: Path, chosen: list[tuple[str, str, str]], bundle: Bundle) -> None:
    victim = folder / "victim"
    for start in range(0, len(chosen), 200):
        found, codes = watched(folder, chosen[start : start + 200], bundle)
        assert found == []
        assert {code for each in codes.values() for code in each} <= {0, 1, 3}
        assert [path.name for path in victim.iterdir()] == ["file"]
        assert (victim / "file").read_text() == PRECIOUS
        assert sorted(path.name for path in folder.iterdir()) == ["clones", "victim"]


def watched(
    folder: Path, chosen: list[tuple[str, str, str]], bundle: Bundle
) -> tuple[list[Any], dict[str, list[int]]]:
    roots = []
    for number, (example, file, text) in enumerate(chosen):
        root = folder / "clones" / str(number)
        (root / "talos").mkdir(parents=True, exist_ok=True)
        for name in FILES:
            own = text if name == file else (EXAMPLES / example / name).read_text("utf-8")
            (root / name).write_text(own, "utf-8")
        (root / "talos/talsecret.yaml").write_text(bundle.to_yaml())
        (root / "talos/talsecret.yaml").chmod(0o600)
        if not (root / "linked").is_symlink():
            (root / "linked").symlink_to(folder / "victim")
        roots.append(str(root))
    log = folder / "log"
    argv = [sys.executable, "-c", WATCHED, str(folder / "victim"), str(log), *roots]
    home = {"HOME": str(folder / "victim"), "PATH": os.environ["PATH"]}
    done = subprocess.run(argv, env=home, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    found, codes = json.loads(log.read_text("utf-8"))
    log.unlink()
    return found, codes


def test_the_watch_sees(tmp_path: Path, bundle: Bundle) -> None:
    """A patch that is a symlink into the victim's directory would be seen if it was read."""
    victim = tmp_path / "victim"
    victim.mkdir()
    (victim / "file").write_text(PRECIOUS)
    code = WATCHED.replace("run(words.split())", 'open(victim + "/file").close()')
    argv = [sys.executable, "-c", code, str(victim), str(tmp_path / "log"), str(tmp_path)]
    subprocess.run(argv, check=True, capture_output=True)
    found, _ = json.loads((tmp_path / "log").read_text("utf-8"))
    assert {event for event, *_ in found} == {"open"}

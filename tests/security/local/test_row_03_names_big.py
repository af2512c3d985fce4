"""Hostile names in every string of an inventory lead nowhere outside the directory (row 3)."""

from __future__ import annotations

import copy
import io
import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
from ruamel.yaml import YAML
from tests.examples import EXAMPLES
from tests.security.local.hostile import PRECIOUS

if TYPE_CHECKING:
    import random
    from collections.abc import Iterator
    from pathlib import Path

    from talops.machineconfig.secrets.bundle import Bundle

FILES = ("cluster.yaml", "nodes.yaml")
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


def with_name(document: Any, place: tuple[Any, ...], name: str) -> str:
    changed = copy.deepcopy(document)
    target = changed
    for key in place[:-1]:
        target = target[key]
    target[place[-1]] = name
    out = io.StringIO()
    YAML(typ="safe").dump(changed, out)
    return out.getvalue()


def variants(victim: Path) -> list[tuple[str, str, str]]:
    """Example, file, and its text with one string replaced."""
    found = []
    for example in sorted(EXAMPLES.iterdir()):
        for file in FILES:
            document = YAML(typ="safe").load((example / file).read_text("utf-8"))
            found += [
                (example.name, file, with_name(document, place, name.format(victim=victim)))
                for place in leaves(document)
                for name in NAMES
            ]
    return found


@pytest.mark.parametrize(
    "count", [400, pytest.param(None, marks=[pytest.mark.chaos, pytest.mark.timeout(3600)])]
)
def test_nothing_outside_is_opened_or_changed(
    tmp_path: Path, bundle: Bundle, rng: random.Random, count: int | None
) -> None:
    """One string at a time, in all examples; files are rendered and configs written."""
    victim = tmp_path / "victim"
    victim.mkdir()
    (victim / "file").write_text(PRECIOUS)
    every = variants(victim)
    chosen = rng.sample(every, count) if count else every
    for start in range(0, len(chosen), 200):
        found, codes = watched(tmp_path, chosen[start : start + 200], bundle)
        assert found == []
        assert {code for each in codes.values() for code in each} <= {0, 1, 3}
        assert [path.name for path in victim.iterdir()] == ["file"]
        assert (victim / "file").read_text() == PRECIOUS
        assert sorted(path.name for path in tmp_path.iterdir()) == ["clones", "victim"]


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

"""Rotation, whole and killed at every start of sops."""

from __future__ import annotations

import shlex
import subprocess
import sys
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from talops.errors import DeniedError, TalopsError
from talops.redaction import Secret
from talops.secrets.age import AgeKey, KeyRing, load_keys
from talops.secrets.check import check_repository
from talops.secrets.rotation import follow_rules, rotate
from talops.secrets.rules import load_rules, rules_text
from talops.secrets.sops import Sops
from talops.secrets.vault import Vault

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from talops.events import Event

pytestmark = pytest.mark.slow

ROTATE = """
import asyncio, sys
from pathlib import Path
from talops.secrets.age import load_keys
from talops.secrets.rotation import rotate
from talops.secrets.sops import Sops
root = Path(sys.argv[2])
asyncio.run(rotate(Sops(Path(sys.argv[1]), root, load_keys(root / "age.key")),
                   root / "age.key", lambda event: None))
"""


def ignore(_: Event) -> None:
    pass


def key_and_rules(root: Path, mate: AgeKey) -> KeyRing:
    key = AgeKey.generate()
    root.mkdir()
    ring = KeyRing((key,))
    ring.save(root / "age.key")
    (root / ".sops.yaml").write_text(rules_text([key.recipient, mate.recipient]))
    return ring


async def repository(program: Path, root: Path, mate: AgeKey) -> Sops:
    """Two encrypted files for us and a colleague."""
    sops = Sops(program, root, key_and_rules(root, mate))
    await Vault.of(sops).write({"a": Secret("first")})
    secret = root / "kubernetes" / "s.sops.yaml"
    secret.parent.mkdir()
    text = "kind: Secret\nmetadata: {name: s}\nstringData: {k: second}\n"
    secret.write_text(await sops.encrypt(text, secret))
    return sops


async def check_rotated(sops: Sops, mate: AgeKey) -> None:
    assert sops.keys
    (old,) = sops.keys.keys
    ring = load_keys(sops.root / "age.key")
    assert ring
    assert len(ring.keys) == 1
    assert ring.rotating_to is None
    assert ring.keys[0] != old
    now = replace(sops, keys=ring)
    assert await check_repository(now) == []
    for keys in (ring, KeyRing((mate,))):
        assert (await Vault.of(replace(sops, keys=keys)).read())["a"].reveal() == "first"
    with pytest.raises(DeniedError):
        await Vault.of(sops).read()
    rules = load_rules(sops.root)
    assert rules
    assert rules.recipients == {ring.keys[0].recipient, mate.recipient}


async def test_every_file_gets_the_new_key(tool: Callable[[str], Path], tmp_path: Path) -> None:
    """The old key opens nothing any more; the colleague's still does; nothing is stale."""
    mate = AgeKey.generate()
    sops = await repository(tool("sops"), tmp_path / "repo", mate)
    done = await rotate(sops, sops.root / "age.key", ignore)
    assert done.files == ("infrastructure/secrets.sops.yaml", "kubernetes/s.sops.yaml")
    await check_rotated(sops, mate)


@pytest.mark.chaos  # test_crash.py kills the whole command at a step of every seed's choice
async def test_killed_anywhere_it_is_continued(tool: Callable[[str], Path], tmp_path: Path) -> None:
    """Kill -9 at starts of sops; meanwhile everything stays readable; repeating finishes it."""
    mate, number = AgeKey.generate(), 0
    while True:
        number += 1
        assert number < 40, "the rotation never came to its end"
        sops = await repository(tool("sops"), tmp_path / f"repo{number}", mate)
        counter = tmp_path / f"count{number}"
        deadly = deadly_sops(tmp_path / f"sops{number}", sops.program, counter, number)
        code = rotate_elsewhere(deadly, sops.root)
        if code == 0:
            break
        assert code == -9
        ring = load_keys(sops.root / "age.key")
        assert (await Vault.of(replace(sops, keys=ring)).read())["a"].reveal() == "first"
        await rotate(replace(sops, keys=ring), sops.root / "age.key", ignore)
        await check_rotated(sops, mate)
    assert number > 6


def rotate_elsewhere(program: Path, root: Path) -> int:
    command = [sys.executable, "-c", ROTATE, str(program), str(root)]
    return subprocess.run(command, check=False, timeout=60).returncode


def deadly_sops(path: Path, program: Path, counter: Path, number: int) -> Path:
    """Kills the process that started it at its n-th start."""
    path.write_text(
        "#!/bin/sh\n"
        f"echo x >>{shlex.quote(str(counter))}\n"
        f'[ "$(wc -l <{shlex.quote(str(counter))})" -eq {number} ] && kill -9 $PPID\n'
        f'exec {shlex.quote(str(program))} "$@"\n'
    )
    path.chmod(0o755)
    return path


async def test_files_follow_the_rules(tool: Callable[[str], Path], tmp_path: Path) -> None:
    """A recipient taken out of .sops.yaml is stale until the files are encrypted again."""
    mate = AgeKey.generate()
    sops = await repository(tool("sops"), tmp_path / "repo", mate)
    assert sops.keys
    (key,) = sops.keys.keys
    (sops.root / ".sops.yaml").write_text(rules_text([key.recipient]))
    stale = await check_repository(sops)
    assert {problem.rule for problem in stale} == {"stale recipients"}
    assert mate.recipient in stale[0].what
    assert len(await follow_rules(sops, ignore)) == 2
    assert await check_repository(sops) == []
    with pytest.raises(DeniedError):
        await Vault.of(replace(sops, keys=KeyRing((mate,)))).read()


async def test_operators_cannot_lock_themselves_out(
    tool: Callable[[str], Path], tmp_path: Path
) -> None:
    """Rules without the current key are not followed."""
    mate = AgeKey.generate()
    sops = await repository(tool("sops"), tmp_path / "repo", mate)
    (sops.root / ".sops.yaml").write_text(rules_text([mate.recipient]))
    with pytest.raises(TalopsError, match="could no longer decrypt this file"):
        await follow_rules(sops, ignore)


async def test_a_file_for_others_stops_the_rotation(
    tool: Callable[[str], Path], tmp_path: Path
) -> None:
    """It cannot be proven, so the old key is not dropped."""
    mate = AgeKey.generate()
    sops = await repository(tool("sops"), tmp_path / "repo", mate)
    assert sops.keys
    foreign = sops.root / "talos" / "x.sops.yaml"
    foreign.parent.mkdir()
    theirs = rules_text([mate.recipient])
    ours = (sops.root / ".sops.yaml").read_text()
    (sops.root / ".sops.yaml").write_text(theirs)
    foreign.write_text(await sops.encrypt("a: 1\n", foreign))
    (sops.root / ".sops.yaml").write_text(ours)
    with pytest.raises(DeniedError, match="cannot decrypt"):
        await rotate(sops, sops.root / "age.key", ignore)
    ring = load_keys(sops.root / "age.key")
    assert ring
    assert sops.keys.keys[0] in ring.keys

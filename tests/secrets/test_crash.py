"""Every secrets command, killed at its steps: nothing plain is left, nothing is lost."""

from __future__ import annotations

import asyncio
import secrets
import shutil
import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest
from tests.crash_points import KILLED, CrashSite

from talops.redaction import Secret
from talops.secrets.age import KeyRing, load_keys
from talops.secrets.check import check_repository
from talops.secrets.init import init
from talops.secrets.sops import Sops
from talops.secrets.vault import Vault
from talops.waiting import NotYet, Ready, wait_for

if TYPE_CHECKING:
    import random
    from collections.abc import Callable
    from pathlib import Path

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

NAME = "tfstate_password"
SAMPLE = 1  # of the steps of each command, another with every seed


@dataclass(frozen=True)
class Command:
    """`ready`: init was done, and an older value is kept. `plain`: where the value may be."""

    words: tuple[str, ...]
    ready: bool = True
    by_stdin: bool = False
    in_inventory: bool = False
    kept_before: bool = False
    plain: frozenset[str] = frozenset()


COMMANDS = {
    "init": Command(("secrets", "init"), ready=False),
    "set": Command(("secrets", "set", NAME), by_stdin=True),
    "import": Command(("secrets", "import"), in_inventory=True, plain=frozenset({"cluster.yaml"})),
    "rotate": Command(("secrets", "rotate"), kept_before=True),
    "edit": Command(("secrets", "edit")),
}


class Scene:
    """A repository as the command finds it; made once, copied for every death."""

    def __init__(self, folder: Path, sops: Path, command: Command) -> None:
        self.command = command
        self.value = secrets.token_urlsafe(24)
        self._folder, self._sops = folder, sops
        self._origin = folder / "origin"
        self._origin.mkdir()
        subprocess.run(["git", "init", "--quiet", str(self._origin)], check=True, timeout=30)
        text = f"{NAME}: {self.value}\n" if command.in_inventory else ""
        (self._origin / "cluster.yaml").write_text(f"cluster_name: a\n{text}")
        if command.ready:
            asyncio.run(self._prepare())

    async def _prepare(self) -> None:
        bare = Sops(self._sops, self._origin)
        made = await init(bare, self._origin / "age.key")
        if self.command.kept_before:
            await Vault.of(made.sops).write({NAME: Secret(self.value)})
        await Vault.of(made.sops).write({"older": Secret("an-older-value")})

    def place(self, name: str) -> CrashSite:
        folder = self._folder / name
        shutil.copytree(self._origin, folder / "repo")
        keys = load_keys(folder / "repo" / "age.key")
        known = [key.identity.reveal() for key in keys.keys] if keys else []
        place = CrashSite(folder / "repo", folder, (self.value, *known))
        place.spy("sops", self._sops)
        # The value comes out of a file: the built-in printf of a shell is not a process.
        (folder / "value").write_text(self.value)
        editor = folder / "bin" / "editor"
        editor.write_text(
            f"#!/bin/sh\nread -r value <{folder}/value\n"
            f'grep -q {NAME} "$1" || printf \'{NAME}: %s\\n\' "$value" >>"$1"\n'
        )
        editor.chmod(0o755)
        return place

    def run(self, place: CrashSite, *, die_at: int = 0) -> int:
        given = self.value if self.command.by_stdin else ""
        return place.run([*self.command.words], die_at=die_at, given=given)

    def look_after_death(self, place: CrashSite) -> None:
        """The value only where it was before; the key only in its file."""
        assert place.holders(self.value) <= self.command.plain
        assert place.holders("AGE-SECRET-KEY-1") <= {"age.key"}

    async def look_at_the_end(self, place: CrashSite) -> None:
        """As if nothing had been killed."""
        ring = load_keys(place.root / "age.key")
        assert ring
        assert ring.rotating_to is None
        assert place.holders("AGE-SECRET-KEY-1") == {"age.key"}
        assert place.holders(self.value) == set()
        sops = Sops(self._sops, place.root, KeyRing(ring.keys))
        kept = await Vault.of(sops).read()
        assert "state_encryption_passphrase" in kept
        if self.command.ready:
            assert kept["older"].reveal() == "an-older-value"
            assert kept[NAME].reveal() == self.value
        assert await check_repository(sops) == []


@pytest.mark.parametrize("name", COMMANDS)
@pytest.mark.parametrize(
    "every", [False, pytest.param(True, marks=pytest.mark.chaos)], ids=["sample", "everywhere"]
)
def test_killed_at_any_step(
    tool: Callable[[str], Path], tmp_path: Path, rng: random.Random, name: str, every: bool
) -> None:
    """No plain file, argument or environment holds a secret; running again completes it."""
    scene = Scene(tmp_path, tool("sops"), COMMANDS[name])
    whole = scene.place("whole")
    assert scene.run(whole) == 0
    asyncio.run(scene.look_at_the_end(whole))
    total = whole.steps
    assert total > 5
    steps = range(1, total + 1) if every else rng.sample(range(1, total + 1), SAMPLE)
    for step in steps:
        place = scene.place(f"step{step}")
        assert scene.run(place, die_at=step) == KILLED, step
        scene.look_after_death(place)
        assert scene.run(place) == 0
        asyncio.run(scene.look_at_the_end(place))
        shutil.rmtree(place.folder)


async def test_killed_while_the_editor_is_open(tool: Callable[[str], Path], tmp_path: Path) -> None:
    """The plain text is removed with talops, though the editor lives on for a moment."""
    scene = await asyncio.to_thread(Scene, tmp_path, tool("sops"), COMMANDS["edit"])
    place = scene.place("open")
    editor = place.folder / "bin" / "editor"
    kill = "kill -9 $PPID\n"
    saw = f'grep -c {NAME} "$1" >{place.folder}/saw\n'
    editor.write_text(editor.read_text() + saw + kill)
    assert await asyncio.to_thread(scene.run, place) == KILLED
    assert (place.folder / "saw").read_text() == "1\n"

    async def gone() -> Ready[None] | NotYet:
        found = place.holders(scene.value)
        return NotYet(str(found)) if found else Ready(None)

    await wait_for("the end of the plain text", gone, timeout=30, interval=0.05)
    scene.look_after_death(place)

"""Editing: the plain text lives in memory, and nowhere after any exit."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from talops.errors import TalopsError
from talops.redaction import Secret
from talops.secrets.age import AgeKey, KeyRing
from talops.secrets.edit import edit, editor_command
from talops.secrets.private import PREFIX, private_directory
from talops.secrets.rules import rules_text
from talops.secrets.sops import Sops
from talops.secrets.vault import Vault
from talops.waiting import NotYet, Ready, wait_for

if TYPE_CHECKING:
    from collections.abc import Callable

SHM = Path("/dev/shm")

HOLDS_A_DIRECTORY = """
import sys, time
from pathlib import Path
from talops.secrets.private import private_directory
with private_directory([Path("/dev/shm")]) as folder:
    (folder / "plain").write_text("secret")
    print(folder, flush=True)
    time.sleep(600)
"""


async def wait_until_gone(folder: Path) -> None:
    async def gone() -> Ready[None] | NotYet:
        return NotYet("still there") if os.access(folder, os.F_OK) else Ready(None)

    await wait_for("the end of the directory", gone, timeout=30, interval=0.01)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGHUP])
def test_the_directory_goes_with_its_process(number: signal.Signals) -> None:
    """Also after kill -9: a guard process outlives talops by a moment and removes it."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDS_A_DIRECTORY], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout
    folder = Path(process.stdout.readline().strip())
    assert (folder / "plain").exists()
    process.send_signal(number)
    process.wait(timeout=30)
    process.stdout.close()

    asyncio.run(wait_until_gone(folder))


def test_the_directory_is_private_and_goes_after_an_error() -> None:
    """0700 while it is there; gone when the body raises."""
    seen: list[tuple[Path, int]] = []

    def body() -> None:
        with private_directory([SHM]) as folder:
            seen.append((folder, folder.stat().st_mode & 0o777))
            raise KeyError

    with pytest.raises(KeyError):
        body()
    ((folder, mode),) = seen
    assert mode == 0o700
    assert not folder.exists()


def test_leftovers_of_dead_processes_are_swept() -> None:
    """If talops and its guard were both killed, the next edit removes what they left."""
    ended = subprocess.Popen(["true"])
    ended.wait()
    left = SHM / f"{PREFIX}{ended.pid}-test{os.getpid()}"
    left.mkdir()
    with private_directory([SHM]):
        assert not left.exists()


def test_a_disk_is_no_place_for_plain_text(tmp_path: Path) -> None:
    """Without a directory in memory editing is refused."""
    with (
        pytest.raises(TalopsError, match="would write plain text to a disk"),
        private_directory([Path("/proc"), tmp_path / "missing"]),
    ):
        pass


@pytest.mark.parametrize(
    ("environment", "words"),
    [
        ({}, "vi -n -i NONE"),
        ({"EDITOR": "nano"}, "nano"),
        ({"EDITOR": "nano", "VISUAL": "/usr/bin/vim -R"}, "/usr/bin/vim -R -n -i NONE"),
        ({"SOPS_EDITOR": "code --wait", "EDITOR": "vi"}, "code --wait"),
    ],
)
def test_editors_leave_no_traces(environment: dict[str, str], words: str) -> None:
    """The user's choice counts; vim gets flags against swap, undo and history files."""
    assert editor_command(environment).startswith(words)


@pytest.mark.slow
@pytest.mark.parametrize("change", [True, False])
async def test_an_edit_changes_the_file(
    tool: Callable[[str], Path], tmp_path: Path, change: bool
) -> None:
    """The editor sees plain text in memory; afterwards only the encrypted file exists."""
    key, root = AgeKey.generate(), tmp_path / "repo"
    root.mkdir()
    (root / ".sops.yaml").write_text(rules_text([key.recipient]))
    vault = Vault.of(Sops(tool("sops"), root, KeyRing((key,))))
    await vault.write({"a": Secret("before-value")})
    editor = tmp_path / "editor"
    editor.write_text(f"#!/bin/sh\necho $1 >{tmp_path}/seen\n" + EDIT * change)
    editor.chmod(0o755)
    environment = {"EDITOR": str(editor), "PATH": os.environ["PATH"]}
    assert await edit(vault.sops, vault.file, environment) is change
    expected = "after-value" if change else "before-value"
    assert (await vault.read())["a"].reveal() == expected
    place = Path((tmp_path / "seen").read_text().strip())
    assert place.is_relative_to(SHM)
    assert not os.access(place, os.F_OK)
    assert list(vault.file.parent.iterdir()) == [vault.file]


EDIT = "sed -i s/before-value/after-value/ $1\n"

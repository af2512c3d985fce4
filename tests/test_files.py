"""Files are the old one or the new one, and a process that is killed leaves no other."""

from __future__ import annotations

import errno
import os
from typing import TYPE_CHECKING

import pytest
from tests.crash_points import KILLED, CrashSite

from talops.errors import TalopsError
from talops.files import PRIVATE, sweep, write_atomic
from talops.waiting import NotYet, Ready, wait_for

if TYPE_CHECKING:
    from pathlib import Path

TWICE = """
from pathlib import Path
from talops.files import PRIVATE, write_atomic
for text in sys.argv[2:]:
    write_atomic(Path("folder/key"), text, mode=PRIVATE, guarded=sys.argv[1] == "guarded")
code = 0
"""
PLAIN, GUARDED = ["plain", "first", "second"], ["guarded", "first", "second"]


def test_killed_at_every_step(tmp_path: Path) -> None:
    """A new file is whole or missing; beside an old one a private copy may stay, if killed
    between its last two steps, until the next sweep.
    """
    whole = place(tmp_path, 0)
    assert whole.run(PLAIN) == 0
    seen = set()
    for step in range(1, whole.steps + 1):
        dying = place(tmp_path, step)
        assert dying.run(PLAIN, die_at=step) == KILLED
        files = sorted(p for p in (dying.root / "folder").glob("*"))
        seen.add(tuple(p.name.split(".")[-2] if p.name[0] == "." else p.name for p in files))
        assert all(p.stat().st_mode & 0o777 == PRIVATE for p in files)
        assert all(p.read_text() in {"first", "second"} for p in files)
        sweep(dying.root / "folder" / "key")
        assert {p.name for p in (dying.root / "folder").glob("*")} <= {"key"}
    assert seen == {(), ("key",), ("key", "key")}


async def test_a_guarded_file_has_no_double(tmp_path: Path) -> None:
    """Killed at any step: soon there is the old file or the new one, and no other."""
    whole = place(tmp_path, 0)
    assert whole.run(GUARDED) == 0
    assert [p.name for p in (whole.root / "folder").iterdir()] == ["key"]
    for step in range(1, whole.steps + 1):
        dying = place(tmp_path, step)
        assert dying.run(GUARDED, die_at=step) == KILLED
        folder = dying.root / "folder"

        async def alone(folder: Path = folder) -> Ready[None] | NotYet:
            doubles = names(folder) - {"key"}
            return NotYet(str(doubles)) if doubles else Ready(None)

        await wait_for("the end of the second name", alone, timeout=30, interval=0.02)
        left = [p.read_text() for p in folder.glob("*")]
        assert left in ([], ["first"], ["second"])


def test_only_the_dead_are_swept(tmp_path: Path) -> None:
    """A write in progress, and files of other names, stay."""
    alive = [f".key.{os.getpid()}-0123abcd", ".key.backup", ".other.1-0123abcd", "key"]
    dead = f".key.{2**22 + 1}-0123abcd"  # above what Linux gives to any process
    for name in [*alive, dead]:
        (tmp_path / name).touch()
    sweep(tmp_path / "key")
    sweep(tmp_path / "nowhere" / "key")
    assert sorted(p.name for p in tmp_path.iterdir()) == sorted(alive)


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.glob("*")}


def place(folder: Path, number: int) -> CrashSite:
    root = folder / str(number)
    (root / "site").mkdir(parents=True)
    return CrashSite(root / "site", root, script=TWICE)


def test_a_file_system_without_nameless_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The older way does the same; a failure leaves the file as it was, and nothing beside it."""
    real = os.open

    def refuse(path: object, flags: int, *rest: int) -> int:
        if flags & os.O_TMPFILE == os.O_TMPFILE:
            raise OSError(errno.EOPNOTSUPP, "not supported")
        return real(path, flags, *rest)  # type: ignore[arg-type]  # passed on as it came

    monkeypatch.setattr(os, "open", refuse)
    write_atomic(tmp_path / "a", "one", mode=PRIVATE)
    write_atomic(tmp_path / "a", "two", mode=PRIVATE)
    assert ((tmp_path / "a").read_text(), (tmp_path / "a").stat().st_mode & 0o777) == ("two", 0o600)
    (tmp_path / "folder" / "x").mkdir(parents=True)
    with pytest.raises(TalopsError, match="cannot write"):
        write_atomic(tmp_path / "folder", "three")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a", "folder"]

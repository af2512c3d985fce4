"""kill -9 after every event of a run, then run again: it converges, once."""

from __future__ import annotations

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

DRIVER = Path(__file__).parent / "directory_run.py"
SECRET = "a-token-that-must-not-be-found"
SEED = 20260


def run(root: Path, *words: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(DRIVER), str(root), str(SEED), *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def world(root: Path) -> dict[str, str]:
    return {p.name: p.read_text() for p in (root / "world").glob("*")}


def crash_everywhere(tmp_path: Path, stride: int) -> None:
    whole = run(tmp_path / "whole")
    assert whole.returncode == 0, whole.stderr
    status, events = whole.stdout.split()
    assert status == "done"
    names = set(world(tmp_path / "whole"))
    for number in range(1, int(events) + 1, stride):
        root = tmp_path / f"killed-{number}"
        assert run(root, number).returncode == -9
        before = world(root)
        again = run(root)
        assert again.returncode == 0, (SEED, number, again.stderr)
        check_converged(root, before, names)


def check_converged(root: Path, before: dict[str, str], names: set[str]) -> None:
    after = world(root)
    assert set(after) == names
    assert before.items() <= after.items(), "something that was there was made anew"
    made = Counter((root / "made.log").read_text().split())
    assert all(made[name] == 1 for name in before)
    diary = json.loads((root / ".talops" / "checkpoint.json").read_bytes())
    assert diary["finished"] is True
    for file in (p for p in root.rglob("*") if p.is_file()):
        assert SECRET not in file.read_text(), file


def test_a_killed_run_converges_when_repeated(tmp_path: Path) -> None:
    """A sample: after every fifth event."""
    crash_everywhere(tmp_path, stride=5)


@pytest.mark.chaos
def test_a_run_killed_anywhere_converges_when_repeated(tmp_path: Path) -> None:
    """The whole matrix: after each event."""
    crash_everywhere(tmp_path, stride=1)

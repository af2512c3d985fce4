"""Bad input ends in an error of talops: no traceback, no hang, no control of the terminal.

`make test` runs a sample of each target, `make chaos` 200,000 inventories and 100,000 messages to
each client, in processes with bounded memory and time. A case that once failed is kept in `found`.
"""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.fuzz import campaign
from tests.fuzz.targets import TARGETS

from talops.errors import TalopsError

if TYPE_CHECKING:
    import random
    from collections.abc import Iterator

FOUND = Path(__file__).with_name("found")
ROOT = Path(__file__).parents[2]
SAMPLE = dict.fromkeys(TARGETS, 150) | {"talos": 600, "audit": 600}
VOLUME = dict.fromkeys(TARGETS, 100_000) | {"inventory": 200_000}
BATCH = 10_000
# A batch takes minutes; a case that does not end is found by this.
BATCH_SECONDS = 6000
BATCHES = [(name, first) for name, count in VOLUME.items() for first in range(0, count, BATCH)]


@pytest.fixture
def seed() -> str:
    """The one in the header of the run."""
    return os.environ["SEED"]


@pytest.mark.parametrize("name", TARGETS)
def test_a_sample(name: str, seed: str) -> None:
    """Other cases in every run; the header of the run has the seed."""
    target = TARGETS[name]()
    try:
        found = campaign.run(name, target, seed, range(SAMPLE[name]))
    finally:
        target.close()
    assert not found, f"{found[0].what}\n{found[0].case!r}"


@pytest.mark.chaos
@pytest.mark.timeout(BATCH_SECONDS + 60)
@pytest.mark.parametrize(("name", "first"), BATCHES)
def test_a_batch(name: str, first: int, seed: str, tmp_path: Path) -> None:
    """In a process of its own: it prints each finding with the command that repeats it."""
    progress = tmp_path / "number"
    words = ["--seed", seed, "--first", str(first), "--count", str(BATCH)]
    argv = [sys.executable, "-m", "tests.fuzz", name, *words, "--progress", str(progress)]
    try:
        done = subprocess.run(
            argv, capture_output=True, text=True, check=False, cwd=ROOT, timeout=BATCH_SECONDS
        )
    except subprocess.TimeoutExpired:
        pytest.fail(f"case {_number(progress)} of {name}, seed {seed}, does not end")
    assert done.returncode == 0, f"at case {_number(progress)}: {done.stdout}{done.stderr}"


def _number(progress: Path) -> int:
    return int.from_bytes(progress.read_bytes())


def found_cases() -> Iterator[tuple[str, str]]:
    for path in sorted(FOUND.glob("*.txt")):
        for line in path.read_text(encoding="utf-8").splitlines():
            yield path.stem, line


@pytest.mark.parametrize("name", sorted({name for name, _ in found_cases()}))
def test_what_was_found_before(name: str) -> None:
    """Every case that ended in a traceback once."""
    target = TARGETS[name]()
    wrong = []
    for each, text in found_cases():
        if each == name:
            case = ast.literal_eval(text)
            wrong += [f"{text[:500]}\n{what}" for what in [campaign.attempt(target, case)] if what]
    target.close()
    assert not wrong, wrong[0]


class Misbehaving:
    """A target whose cases say what happens."""

    def make(self, rng: random.Random) -> str:
        return rng.choice(["bug", "text", "error"])

    def run(self, case: str) -> Iterator[object]:
        yield "fine"
        if case == "bug":
            raise KeyError("x")
        if case == "error":
            raise TalopsError("\x1b[2J is shown, not sent")
        sys.stderr.write("\x9b2J")

    def close(self) -> None:
        pass


@pytest.mark.parametrize(
    ("case", "what"),
    [("bug", "KeyError: 'x'"), ("text", ""), ("error", "")],
)
def test_the_campaign_sees_what_is_wrong(case: str, what: str) -> None:
    """A traceback is a finding; the streams of the command line keep control characters back."""
    found = campaign.attempt(Misbehaving(), case)
    assert (what in found) if what else not found


def test_a_case_is_made_from_its_number(seed: str) -> None:
    """So that the printed command repeats it, wherever the batch began."""
    target = Misbehaving()
    cases = [campaign.case_of(target, "x", seed, number) for number in range(50)]
    assert cases == [campaign.case_of(target, "x", seed, number) for number in range(50)]
    bugs = [number for number, case in enumerate(cases) if case == "bug"]
    assert [each.number for each in campaign.run("x", target, seed, range(50))] == bugs

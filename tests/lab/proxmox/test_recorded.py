"""The lab answers as the real API did; what stays different is in `differences.txt`, with why."""

from __future__ import annotations

from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.lab.proxmox.conftest import running
from tests.lab.proxmox.replay import Replay
from tests.recordings.proxmox import SESSIONS, session

from talops.lab.spec import HypervisorSpec, LabSpec, NodeSpec

if TYPE_CHECKING:
    from collections.abc import Iterator

FILE = Path(__file__).with_name("differences.txt")
MOST = 40
# The recorded host: two processors, and one network card more than bridges.
SPEC = LabSpec(proxmox=(HypervisorSpec(name="pve", nodes=(NodeSpec(name="pve", cores=2),)),))


def excepted() -> Iterator[tuple[str, str]]:
    """Each line's pattern and its reason; `*` stands for anything."""
    for line in FILE.read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            pattern, _, reason = line.partition(" | ")
            yield pattern.strip(), reason.strip()


def covers(pattern: str, difference: str) -> bool:
    return fnmatchcase(difference, f"{pattern.replace('[', '[[]')}*")


@pytest.mark.parametrize("name", SESSIONS)
async def test_the_lab_answers_like_the_real_api(name: str, tmp_path: Path) -> None:
    """Status, message, errors, the known parts of bodies and how tasks end, in the same order."""
    found: list[str] = []
    async with running(tmp_path / "lab", SPEC) as pve:
        replay = Replay(pve)
        await replay.prepare(name)
        for recorded in session(name):
            found += [f"{recorded.name}: {one}" for one in await replay.send(recorded)]
    groups = {f"[{recorded.group}]" for recorded in session(name)}
    rules = [pattern for pattern, _ in excepted()]
    unlisted = [one for one in found if not any(covers(rule, one) for rule in rules)]
    assert not unlisted, "\n".join(unlisted)
    mine = [rule for rule in rules if rule.split("]")[0] + "]" in groups and _only_here(rule, name)]
    stale = [rule for rule in mine if not any(covers(rule, one) for one in found)]
    assert not stale, "\n".join(stale)


def _only_here(rule: str, name: str) -> bool:
    """Whether the requests that a rule names are in this session only."""
    title = rule.partition(":")[0]
    return not any(
        covers(title, recorded.name)
        for other in SESSIONS
        if other != name
        for recorded in session(other)
    )


def test_exceptions_are_few_and_have_reasons() -> None:
    """A list that grows is a lab that drifts."""
    rules = list(excepted())
    assert len(rules) <= MOST
    assert all(reason for _, reason in rules)

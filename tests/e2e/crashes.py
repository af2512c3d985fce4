"""Kill talops after one of its events, as a power cut would, and look at what is left."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from tests.e2e.conftest import Lab, kill_group

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

Event = dict[str, Any]


async def up_until(lab: Lab, stop: Callable[[Event], bool]) -> list[Event]:
    """Run `up` and kill it with everything it started as soon as `stop` says so."""
    process = await lab.start("up", "--yes", "-o", "json")
    assert process.stdout
    seen: list[Event] = []
    try:
        async for line in process.stdout:
            event = json.loads(line)
            seen.append(event)
            if stop(event):
                break
    finally:
        kill_group(process)
        await process.wait()
    return seen


def plain_files(root: Path) -> Iterator[Path]:
    """Everything that a run may have left behind and that is not encrypted by design."""
    for path in root.rglob("*"):
        if path.is_file() and ".sops." not in path.name and path.name != "age.key":
            yield path


def leaks(root: Path, secrets: list[str]) -> list[str]:
    """Files that hold one of these values in plain text and are not private to their owner."""
    found = []
    for path in plain_files(root):
        content = path.read_bytes()
        shown = [s for s in secrets if s.encode() in content]
        if shown and path.stat().st_mode & 0o077:
            found.append(str(path.relative_to(root)))
    return found


def in_logs(root: Path, secrets: list[str]) -> list[str]:
    """Records of runs never hold a secret, private or not."""
    return [
        str(path.relative_to(root))
        for path in (root / ".talops" / "runs").rglob("*")
        if path.is_file() and any(s.encode() in path.read_bytes() for s in secrets)
    ]


async def assert_whole(lab: Lab, names: set[str]) -> None:
    """Exactly these VMs, one etcd with every control plane in it, and nothing left to do."""
    assert set(lab.vms()) == names
    assert len(lab.vms()) == len(names)
    planes = {name for name in names if "-cp-" in name}
    members = await lab.talops("talos", "etcd", "members", "-o", "json")
    assert members.code == 0, members.everything
    assert {m["hostname"] for m in json.loads(members.out)["members"]} == planes
    again = await lab.talops("up", "--yes", "--dry-run")
    assert again.code == 0, again.everything

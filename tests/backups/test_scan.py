"""Backups of every kind, killed at any step: nothing of the database in plain on a disk."""

from __future__ import annotations

import gzip
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.backups.conftest import RECORDED
from tests.backups.site import KEY, write_site
from tests.crash_points import KILLED, CrashSite

from talops.secrets.age import KeyRing
from talops.secrets.age_stream import AgeWriter

if TYPE_CHECKING:
    import random

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]
SAMPLE = 2
# Names of objects, and what is in them, as `conftest.record` made them.
MARKS = ("/registry/", "firstfirst", "largelarge")
# A snapshot, one of a member without a leader, the file of one whose etcd does not run, an upload
# of a CronJob; then all are proven, and the newest is decrypted as a restore sends it.
SCRIPT = f"""
import asyncio, gzip, shutil
sys.path.insert(0, {str(Path(__file__).parents[2])!r})
from pathlib import Path
from types import SimpleNamespace
from tests.backups.site import Lab
from talops.app.backups import keeping
from talops.backups.restoring import BackupSource
from talops.secrets.age import load_keys
from talops.talos.errors import PreconditionError

PLAIN = gzip.decompress(Path({str(RECORDED)!r}).read_bytes())

class Member:
    leader = 1
    async def __aenter__(self): return self
    async def __aexit__(self, *_): pass
    @property
    def etcd(self): return self
    files = etcd
    async def version(self): return SimpleNamespace(tag="v1.14.1")
    async def exists(self, path): return True
    async def status(self):
        if self.leader is None:
            raise PreconditionError("etcd does not run")
        return SimpleNamespace(leader=self.leader, learner=False, errors=(), member_id=2,
                               raft_applied_index=9, protocol_version="3.7.1")
    async def snapshot_pieces(self, patience):
        for start in range(0, len(PLAIN), 32768):
            yield PLAIN[start:start + 32768]
    async def pieces(self, path, patience):
        yield PLAIN[:-32]

class Planes:
    def talos(self, node): return Member()
    fresh = talos

async def main():
    root = Path.cwd()
    lab = Lab(root, Planes())
    site = lambda: lab.site(load_keys(root / "age.key"))
    await keeping.create(site(), str)
    for Member.leader in (0, None):
        await keeping.create(site(), str, without_majority=True)
    upload = root / "upload.snap.age"
    if upload.exists():
        shutil.move(upload, lab.store / "lab-2026-11-19T03:17:00Z.snap.age")
    await keeping.adopt(site(), str)
    assert all(proof.error is None for proof in await keeping.proofs(site(), [], str))
    source = BackupSource(site(), "latest")
    await source.prepare()
    async with source.opened() as pieces:
        assert sum(map(len, pieces)) in {{len(PLAIN), len(PLAIN) - 32}}

asyncio.run(main())
code = 0
"""


def prepare(root: Path) -> None:
    write_site(root)
    KeyRing((KEY,)).save(root / "age.key")
    with (root / "upload.snap.age").open("wb") as file:
        writer = AgeWriter(file.write, (KEY.recipient,))
        writer.add(gzip.decompress(RECORDED.read_bytes()))
        writer.finish()


def scan(place: CrashSite) -> None:
    for mark in MARKS:
        assert place.holders(mark) == set()
    assert place.holders("AGE-SECRET-KEY-1") == {"age.key"}


@pytest.mark.parametrize(
    "every", [False, pytest.param(True, marks=pytest.mark.chaos)], ids=["sample", "everywhere"]
)
def test_killed_at_any_step(tmp_path: Path, rng: random.Random, every: bool) -> None:
    """And the same commands succeed afterwards."""
    origin = tmp_path / "origin"
    prepare(origin)

    def place(name: str) -> CrashSite:
        shutil.copytree(origin, tmp_path / name / "repo")
        return CrashSite(tmp_path / name / "repo", tmp_path / name, script=SCRIPT)

    whole = place("whole")
    assert whole.run([]) == 0
    scan(whole)
    total = whole.steps
    assert total > 20
    for step in range(1, total + 1) if every else rng.sample(range(1, total + 1), SAMPLE):
        site = place(f"step{step}")
        assert site.run([], die_at=step) == KILLED, step
        scan(site)
        assert site.run([]) == 0, step
        scan(site)
        shutil.rmtree(site.folder)
    print(f"{total} steps")  # noqa: T201


def test_the_scan_finds_what_is_plain(tmp_path: Path) -> None:
    """A scan that finds nothing anywhere would prove nothing."""
    prepare(tmp_path / "repo")
    place = CrashSite(tmp_path / "repo", tmp_path, script=SCRIPT)
    (place.root / "db").write_bytes(gzip.decompress(RECORDED.read_bytes()))
    assert [place.holders(mark) for mark in MARKS] == [{"db"}] * len(MARKS)

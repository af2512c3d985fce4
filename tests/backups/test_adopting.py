"""Snapshots that a CronJob in the cluster uploaded: names and form are those of talos-backup
(siderolabs/talos-backup, pkg/talos/talos.go and pkg/encryption/encryption.go).
"""

from __future__ import annotations

import io
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest
from tests.backups.site import KEY, Lab, three_planes

from talops.app.backups import keeping
from talops.backups.making import adopting
from talops.errors import TalopsError
from talops.secrets.age import AgeKey
from talops.secrets.age_stream import AgeWriter
from talops.secrets.rules import rules_text

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

AT = datetime(2026, 11, 19, 3, 17, tzinfo=UTC)
NAME = "lab-2026-11-19T03:17:00Z.snap.age"
LATER = "lab-2026-11-20T04:17:00+01:00.snap.age"


@pytest.fixture
async def lab(tmp_path: Path) -> AsyncIterator[Lab]:
    async with three_planes(tmp_path / "site") as made:
        made.store.mkdir(parents=True)
        yield made


def upload(lab: Lab, name: str, snapshot: bytes, key: AgeKey = KEY) -> None:
    out = io.BytesIO()
    writer = AgeWriter(out.write, (key.recipient,))
    writer.add(snapshot)
    writer.finish()
    (lab.store / name).write_bytes(out.getvalue())


async def adopt(lab: Lab, said: list[str] | None = None) -> Any:
    return await keeping.adopt(lab.site(), (said if said is not None else []).append)


async def test_an_upload_becomes_a_backup(lab: Lab, snapshot: bytes) -> None:
    """Of the time in its name, for every age key that may read backups, with a signed manifest."""
    other = AgeKey.generate()
    (lab.root / ".sops.yaml").write_text(rules_text([KEY.recipient, other.recipient]))
    upload(lab, LATER, snapshot)
    upload(lab, NAME, snapshot)
    first, second = await adopt(lab)
    assert (first.created, first.source) == (AT, "talos-backup")
    assert second.created == datetime(2026, 11, 20, 3, 17, tzinfo=UTC)
    assert set(first.sealed.recipients) == {KEY.recipient, other.recipient}
    assert first.kinds["pods"].count == 12
    assert sorted(lab.stored()) == sorted(
        f"{made.id}{end}" for made in (first, second) for end in (".age", ".json")
    )
    proofs = await keeping.proofs(lab.site(), [], lambda _: None)
    assert [proof.error for proof in proofs] == [None, None]
    assert await adopt(lab) == []


async def test_what_cannot_be_proven_is_not_signed(lab: Lab, snapshot: bytes) -> None:
    """Damaged, or for another key: it stays, the good one is adopted, and the command fails."""
    upload(lab, NAME, snapshot[:5000] + bytes([snapshot[5000] ^ 1]) + snapshot[5001:])
    upload(lab, "lab-2026-11-19T04:17:00Z.snap.age", snapshot, AgeKey.generate())
    upload(lab, LATER, snapshot)
    said: list[str] = []
    with pytest.raises(TalopsError, match="cannot adopt lab-2026-11-19T03"):
        await adopt(lab, said)
    assert ["damaged or truncated" in said[0], "other age keys" in said[1]] == [True, True]
    listed = await keeping.listed(lab.site())
    assert [backup.usable for backup in listed] == [True]
    assert {NAME, "lab-2026-11-19T04:17:00Z.snap.age"} <= set(lab.stored())
    assert LATER not in lab.stored()


async def test_an_interrupted_run_adopts_once(
    lab: Lab, snapshot: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ended between the manifest and the removal of the upload."""
    upload(lab, NAME, snapshot)
    with monkeypatch.context() as patched:

        async def dies(*_: Any) -> None:
            raise KeyboardInterrupt

        patched.setattr("talops.backups.directory.DirectoryStore.remove", dies)
        with pytest.raises(KeyboardInterrupt):
            await adopting.adopt(lab.site(), _store(lab), print)
    assert NAME in lab.stored()
    assert await adopt(lab) == []
    assert NAME not in lab.stored()
    assert len(await keeping.listed(lab.site())) == 1


def _store(lab: Lab) -> Any:
    from talops.backups.opening import open_store

    return open_store(lab.site())

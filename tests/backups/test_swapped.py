"""A store that another user can write to: nothing but what was proven is restored."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

import pytest
from tests.backups.site import KEY, Lab, three_planes
from tests.backups.test_bucket import Shelf

from talops.app.backups import keeping
from talops.backups.bolt import DamagedError
from talops.backups.bucket import BucketStore
from talops.backups.directory import DirectoryStore
from talops.backups.drilling import _unsealed
from talops.backups.opening import open_store
from talops.backups.restoring import BackupSource
from talops.backups.store import DATA, LARGEST_DOCUMENT, MANIFEST
from talops.inside import OutsideError
from talops.secrets.age import KeyRing
from talops.secrets.age_stream import AgeWriter

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from talops.backups.manifest import Manifest


@pytest.fixture
async def lab(tmp_path: Path, snapshot: bytes) -> AsyncIterator[Lab]:
    async with three_planes(tmp_path / "site") as made:
        for name in made.nodes:
            made.answers(name, snapshot)
        yield made


def sealed(snapshot: bytes) -> bytes:
    """A database of the attacker: its digest is right, and the recipients are public."""
    changed = snapshot[:-32].replace(b"second", b"mallet")
    found = bytearray()
    writer = AgeWriter(found.extend, [KEY.recipient])
    writer.add(changed + hashlib.sha256(changed).digest())
    writer.finish()
    return bytes(found)


async def restored(source: BackupSource, received: bytearray | None = None) -> bytes:
    """What a node receives; the call fails if this raises."""
    received = bytearray() if received is None else received
    async with source.opened() as pieces:
        for piece in pieces:
            received += piece
    return bytes(received)


async def test_what_is_sent_is_what_was_proven(
    lab: Lab, snapshot: bytes, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The attack: the bucket returned the good file to the proof, another one to the restore."""
    shelf = Shelf()
    bucket: Any = shelf
    store = BucketStore(bucket, "s3://b/lab", tmp_path / "spool")
    for module in ("opening", "restoring"):
        monkeypatch.setattr(f"talops.backups.{module}.open_store", lambda _: store)
    made = await keeping.create(lab.site(), print)
    source = BackupSource(lab.site(), "latest")
    await source.prepare()
    assert await restored(source) == snapshot
    name = made.id + DATA
    shelf.objects[name] = sealed(snapshot)
    with pytest.raises(DamagedError, match="another snapshot than the one that was proven"):
        await restored(source)
    await refused_by_a_drill(store, made, tmp_path / "plain")


async def refused_by_a_drill(store: BucketStore, made: Manifest, plain: Path) -> None:
    with pytest.raises(DamagedError, match="another snapshot"):
        await _unsealed(store, made, KeyRing((KEY,)), plain)


async def test_the_last_piece_is_never_sent(
    lab: Lab, snapshot: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The transfer fails before its end, so the node is not told to restore what it has."""
    made = await keeping.create(lab.site(), print)
    source = BackupSource(lab.site(), "latest")
    await source.prepare()
    (lab.store / (made.id + DATA)).write_bytes(sealed(snapshot))
    received = bytearray()
    with pytest.raises(DamagedError):
        await restored(source, received)
    assert len(received) < len(snapshot)


async def test_a_document_without_an_end(lab: Lab) -> None:
    """A manifest that fills the memory is a problem of this backup, not of the command."""
    made = await keeping.create(lab.site(), print)
    large = lab.store / f"20261119T203346Z-5f0c9f1d{MANIFEST}"
    with large.open("wb") as file:
        file.truncate(LARGEST_DOCUMENT + 1)
    found = {backup.id: backup.problem for backup in await keeping.listed(lab.site())}
    assert found == {made.id: "", large.stem: "this file is larger than 4 MiB"}


@pytest.mark.parametrize("link", ["backups", "backups/lab"])
def test_a_symlink_of_a_clone(tmp_path: Path, link: str) -> None:
    """The attack: backups of a cloned repository went to a directory of the user, as did 0700."""
    from tests.backups.site import write_site

    from talops.app.opening import closed_site

    victim = tmp_path / "victim"
    victim.mkdir()
    write_site(tmp_path / "site")
    path = tmp_path / "site" / link
    path.parent.mkdir(exist_ok=True)
    path.symlink_to(victim)
    with pytest.raises(OutsideError, match="leads outside"):
        open_store(closed_site(tmp_path / "site", {}))
    path.unlink()
    path.symlink_to("elsewhere")
    assert isinstance(open_store(closed_site(tmp_path / "site", {})), DirectoryStore)

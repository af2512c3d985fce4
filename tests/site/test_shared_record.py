"""The record of the bootstrap beside shared states: kept by the backends that keep the states."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from talops.errors import TalopsError
from talops.site.founding.record import fingerprint
from talops.site.founding.shared import SharedRecord, record_name
from talops.statestore.backends.local import LocalBackend
from talops.statestore.documents import header_of
from talops.statestore.model import Retention

if TYPE_CHECKING:
    from pathlib import Path


def record(folder: Path) -> SharedRecord:
    files = {record_name("demo"): folder / "record.tfstate"}
    return SharedRecord("demo", lambda: LocalBackend(files, folder / "copies", Retention(5, 30)))


async def test_the_record_is_a_state_that_every_backend_keeps(tmp_path: Path) -> None:
    """Written, written again without a new version, and emptied when the cluster is destroyed."""
    shared = record(tmp_path)
    assert await shared.read() == ""
    await shared.write(fingerprint("id"))
    await shared.write(fingerprint("id"))
    assert await shared.read() == fingerprint("id")
    first = header_of((tmp_path / "record.tfstate").read_bytes())
    await shared.write("")
    assert await shared.read() == ""
    second = header_of((tmp_path / "record.tfstate").read_bytes())
    assert (first.serial, second.serial) == (1, 2)
    assert first.lineage == second.lineage


async def test_an_unreadable_record_is_not_an_absent_one(tmp_path: Path) -> None:
    """A cluster is not bootstrapped because its record is damaged."""
    (tmp_path / "record.tfstate").write_text(json.dumps([1]))
    with pytest.raises(TalopsError, match="cannot be read"):
        await record(tmp_path).read()

"""The secrets of a cluster are opened once, however many stages ask for them together."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from talops.errors import ToolError
from talops.machineconfig.places import SEALED
from talops.machineconfig.secrets import bundle as bundles
from talops.site.secrets_file import SecretsFile, new_secrets

if TYPE_CHECKING:
    from pathlib import Path

    from talops.machineconfig.secrets.bundle import Bundle


class Slow:
    """A sops that takes a moment, and may fail the first time."""

    def __init__(self, text: str, failures: int = 0) -> None:
        self.text = text
        self.failures = failures
        self.opened = 0

    async def decrypt(self, _: Path) -> str:
        self.opened += 1
        await asyncio.sleep(0)
        if self.opened <= self.failures:
            raise ToolError("not now")
        return self.text


class Plain(Slow):
    """One that encrypts nothing."""

    async def encrypt(self, text: str, _: Path) -> str:
        return text


class Place:
    def __init__(self, root: Path, sops: Slow) -> None:
        self.root = root
        self.sops = sops


@pytest.fixture
def sealed(tmp_path: Path) -> Path:
    file = new_secrets(tmp_path, sealed=True).path
    file.parent.mkdir()
    file.write_text("sealed")
    return tmp_path


async def test_opened_once_for_all(sealed: Path, bundle: Bundle) -> None:
    """Five at once get the same bundle out of one decryption."""
    sops, told = Slow(bundle.to_yaml()), list[Any]()
    site: Any = Place(sealed, sops)
    file = SecretsFile(site, lambda *found: told.extend(found))
    found = await asyncio.gather(*(file.read() for _ in range(5)))
    assert sops.opened == 1
    assert all(each is found[0] for each in found)
    assert len(told) == len(list(bundle.secrets()))


async def test_a_failure_is_not_remembered(sealed: Path, bundle: Bundle) -> None:
    """The next request tries again."""
    sops = Slow(bundle.to_yaml(), failures=1)
    site: Any = Place(sealed, sops)
    file = SecretsFile(site, lambda *_: None)
    with pytest.raises(ToolError):
        await file.read()
    assert (await file.require()).cluster_id == bundle.cluster_id


@pytest.mark.parametrize("contract", ["v1.13", "v1.14"])
async def test_new_secrets_record_the_contract(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bundle: Bundle, contract: str
) -> None:
    """A later talos_version finds what the cluster was created with."""
    monkeypatch.setattr(bundles, "generate", lambda _, contract: replace(bundle, contract=contract))
    site: Any = Place(tmp_path, Plain(""))
    site.cluster = SimpleNamespace(talos_contract=contract)
    await SecretsFile(site, lambda *_: None).create()
    text = (tmp_path / SEALED).read_text(encoding="utf-8")
    found = bundles.from_yaml(text, where="x").contract
    assert found
    assert f"v{found}" == contract

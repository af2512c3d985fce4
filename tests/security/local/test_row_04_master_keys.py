"""What the cluster holds opens none of the operator's files (row 4)."""

from __future__ import annotations

import base64
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from tests.examples import EXAMPLES

from talops.delivery.flux_keys import flux_keys
from talops.errors import TalopsError
from talops.gitops import flux
from talops.inventory.load import load
from talops.secrets.age import KeyRing, parse_keys
from talops.secrets.init import init
from talops.secrets.sops import Sops
from talops.secrets.vault import Vault

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = pytest.mark.slow

REPOSITORY = load(EXAMPLES / "ha").require().repository
TEXT = "kind: Secret\nmetadata: {name: s}\nstringData: {k: v}\n"
FILES = (
    "infrastructure/secrets.sops.yaml",
    "talos/talsecret.sops.yaml",
    "talos/kubernetes/a.sops.yaml",
    "bootstrap/a.sops.yaml",
)


async def test_the_planted_key_opens_kubernetes_only(
    tool: Callable[[str], Path], tmp_path: Path
) -> None:
    """The attack: the identity of Secret `sops-age` opened the Proxmox token and Talos' secrets.

    The Secret is the one that talops stores in the cluster, and the real sops tries each file.
    """
    assert REPOSITORY
    sops = (await init(Sops(tool("sops"), tmp_path), tmp_path / "age.key", hook=False)).sops
    for name in (*FILES[1:], "kubernetes/apps/a.sops.yaml"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(await sops.encrypt(TEXT, tmp_path / name))
    keys = flux_keys(sops, await Vault.of(sops).read(), REPOSITORY)
    assert keys.separate
    planted = flux.age_secret(keys.goal.identity)
    text = base64.b64decode(planted["data"][flux.KEY_ENTRY]).decode()
    thief = replace(sops, keys=KeyRing(parse_keys(text, "the cluster").keys))
    for name in FILES:
        with pytest.raises(TalopsError):
            await thief.decrypt(tmp_path / name)
        assert await sops.decrypt(tmp_path / name)
    assert "k: v" in await thief.decrypt(tmp_path / "kubernetes/apps/a.sops.yaml")

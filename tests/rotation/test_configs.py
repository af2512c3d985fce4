"""The config of one node in a phase: that of the inventory, with all of its patches."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from tests.examples import EXAMPLES, bundle

from talops.inventory.load import load
from talops.machineconfig.build import build_configs
from talops.machineconfig.secrets.rotating import Rotated
from talops.rotation.configs import config_for
from talops.rotation.phases import begin
from talops.site.fleet import Configured

if TYPE_CHECKING:
    from pathlib import Path

    from talops.machineconfig.secrets.bundle import Bundle

__all__ = ["bundle"]
SEALED = "talos/patches/imported.sops.yaml"
PLAIN = "machine: {env: {TOKEN: secret}}\n"
ENCRYPTED = "machine: ENC[AES256_GCM,data:x]\nsops: {mac: x}\n"


async def test_encrypted_patches_are_decrypted(bundle: Bundle, tmp_path: Path) -> None:
    """An import creates such patches; a rotation read them as they are stored, and failed."""
    cluster = replace(load(EXAMPLES / "bare-metal").require(), patches=(SEALED,))
    (tmp_path / SEALED).parent.mkdir(parents=True)
    (tmp_path / SEALED).write_text(ENCRYPTED, encoding="utf-8")

    async def decrypt(path: Path) -> str:
        assert path == tmp_path / SEALED
        return PLAIN

    site: Any = SimpleNamespace(
        cluster=cluster, root=tmp_path, sops=SimpleNamespace(decrypt=decrypt)
    )
    node = cluster.control_planes[0]
    running = build_configs(cluster, bundle, lambda _: PLAIN)[node.name].to_yaml()
    rotating = begin(bundle, Rotated.TALOS_CA, datetime.now(UTC))
    found = await config_for(site, rotating, node, Configured(running, None), Rotated.TALOS_CA)
    assert found is not None
    assert "acceptedCAs" in found.to_yaml()

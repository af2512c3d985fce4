"""Loads everything that stages need: inventory, keys, credentials, programs."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from talops.cli.secrets.context import Context
    from talops.inventory.model import Cluster
    from talops.redaction import Secret
    from talops.site.site import Site

KUBECONFIG = "kubeconfig"


def site_of(directory: Path, nodes: re.Pattern[str] | None = None) -> Site:
    from talops.cli.look.inventory_errors import load_or_report
    from talops.cli.secrets.context import with_context
    from talops.files import sweep
    from talops.machineconfig.places import TALOSCONFIG
    from talops.site.site import Site

    root = directory.resolve()
    cluster = load_or_report(root)
    for file in (_kubeconfig(root), root / TALOSCONFIG):
        sweep(file)

    async def gather(context: Context) -> Site:
        return Site(
            cluster=cluster,
            root=root,
            sops=context.sops,
            engine=await _engine(cluster, root),
            environment=dict(os.environ),
            credentials={**await _kept(context), **cluster.credentials},
            kubeconfig=_kubeconfig(root),
            nodes=nodes or re.compile(""),
        )

    return with_context(root, gather)


async def _kept(context: Context) -> dict[str, Secret]:
    from talops.secrets.vault import Vault

    return await Vault.of(context.sops).read()


async def _engine(cluster: Cluster, root: Path) -> Path:
    from talops.cli.tools.progress import progress
    from talops.site.state_passphrase import passphrase_at_hand
    from talops.toolchain.engine import ensure_engine
    from talops.toolchain.install import Toolchain

    with progress() as emit:
        chain = Toolchain(os.environ, emit=emit)
        encrypted = passphrase_at_hand(cluster, root)
        return (await ensure_engine(chain, encrypted=encrypted)).path


def _kubeconfig(root: Path) -> Path:
    named = os.environ.get("KUBECONFIG", "").split(os.pathsep)[0]
    return Path(named) if named else root / KUBECONFIG

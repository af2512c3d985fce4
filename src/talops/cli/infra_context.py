"""What `talops infra` needs before it can run a layer: the engine, the environment, the view."""

from __future__ import annotations

import os
import re
import sys
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from talops.cli.options import Format
from talops.redaction import Secret
from talops.tofu.apply import Applier, Conduct, Healthy
from talops.tofu.diary import Diary
from talops.tofu.engine import Engine
from talops.tofu.layers import Layer, choose, find_layers
from talops.tofu.policy import Policy

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from talops.events import Emit
    from talops.inventory.model import Cluster
    from talops.tofu.attached import Access
    from talops.tofu.ordering import Batch
    from talops.tofu.plan import Change

FOLDER = Path(".talops/infra")
# Variables of OpenTofu, its backends and the provider whose values must never be shown.
_SECRET = re.compile(
    r"(TF|AWS|PROXMOX_VE|PG|TALOPS)_.*(PASSWORD|TOKEN|SECRET|PASSPHRASE|ACCESS_KEY|TICKET)\w*",
    re.IGNORECASE,
)


async def nobody(_: Batch) -> None:
    """For plans that are only looked at, and for what is destroyed: nobody comes back."""


@dataclass(frozen=True)
class Order:
    """What the command line asks for, whatever the layer."""

    policy: Policy = field(default_factory=Policy)
    healthy: Healthy = nobody
    parallelism: int | None = None
    extra: Sequence[str] = ()


@dataclass(frozen=True)
class Context:
    """One run of an `infra` command."""

    root: Path
    layers: tuple[Layer, ...]
    program: Path
    emit: Emit
    cluster: Cluster | None
    credentials: Mapping[str, Secret]

    def engine(self, layer: Layer) -> Engine:
        variables = {**os.environ, **self._environment(layer.name)}
        credentials = {name: Secret(v) for name, v in variables.items() if _SECRET.fullmatch(name)}
        plain = {name: v for name, v in variables.items() if name not in credentials}
        return Engine(
            self.program, layer, environment=plain, credentials=credentials, emit=self.emit
        )

    def _environment(self, layer: str) -> dict[str, str]:
        return layer_environment(self.cluster, layer, self.credentials, self.root)

    def saved(self, layer: Layer) -> Path:
        return (self.root / FOLDER / f"{layer.slug}.tfplan").absolute()

    def applier(self, layer: Layer, order: Order) -> Applier:
        from talops.tofu import attached

        reached = access({**os.environ, **self._environment("")})

        async def read_disks(changes: Sequence[Change]) -> Mapping[int, frozenset[str]] | None:
            return await attached.read_attached(reached, changes) if reached else None

        async def find_lost(changes: Sequence[Change]) -> Mapping[str, str]:
            return await attached.find_lost(reached, changes) if reached else {}

        conduct = Conduct(
            order.policy,
            read_disks,
            order.healthy,
            find_lost,
            parallelism=order.parallelism,
            extra=tuple(order.extra),
        )
        diary = Diary(self.root / FOLDER / f"{layer.slug}.creating.json")
        return Applier(self.engine(layer), conduct, diary)


@contextmanager
def context(
    directory: Path | None,
    wanted: list[str] | None,
    output: Format,
    program: str | None = None,
) -> Iterator[Context]:
    """The chosen layers with everything at hand; progress is shown while inside."""
    import asyncio

    from talops.cli.infra_view import open_view
    from talops.cli.tools_progress import progress
    from talops.toolchain.engine import ensure_engine
    from talops.toolchain.install import Toolchain

    root = (directory or Path.cwd()).absolute()
    layers = choose(find_layers(root), wanted, root)
    cluster = _cluster(root)
    credentials = _credentials(cluster, root)
    with progress() as emit:
        engine = asyncio.run(ensure_engine(Toolchain(os.environ, emit=emit), program))
    with open_view(json=output is Format.JSON, out=sys.stdout, err=sys.stderr) as view:
        yield Context(root, tuple(layers), engine.path, view, cluster, credentials)


def _cluster(root: Path) -> Cluster | None:
    """Layers may also be worked on without an inventory beside them."""
    from talops.inventory.load import CLUSTER_FILE, load

    return load(root).require() if (root / CLUSTER_FILE).exists() else None


def _credentials(cluster: Cluster | None, root: Path) -> Mapping[str, Secret]:
    """From the encrypted file; what stands in an ignored cluster.yaml comes first."""
    from talops.secrets.vault import FILE, Vault

    kept: Mapping[str, Secret] = {}
    if (root / FILE).exists():
        from talops.cli.secrets_context import with_context

        kept = with_context(root, lambda found: Vault.of(found.sops).read())
    return {**kept, **(cluster.credentials if cluster else {})}


def layer_environment(
    cluster: Cluster | None, name: str, credentials: Mapping[str, Secret], root: Path
) -> dict[str, str]:
    """Backend and provider settings of a layer. Where the user set a variable, that one stays."""
    if cluster is None:
        return {}
    from talops.render.backend import backend_environment, provider_environment
    from talops.render.layers import layers

    found = provider_environment(cluster, credentials, root)
    layer = next((each for each in layers(cluster) if each.name == name), None)
    if layer:
        found |= backend_environment(cluster, layer, credentials)
    return {
        k: v
        for k, v in found.items()
        if k not in os.environ or k.endswith(("ADDRESS", "SSL_CERT_FILE"))
    }


def access(variables: Mapping[str, str]) -> Access | None:
    """Proxmox as the provider would reach it; None if nothing says where it is."""
    from talops.tofu.attached import Access

    endpoint = variables.get("PROXMOX_VE_ENDPOINT")
    if not endpoint:
        return None
    token = variables.get("PROXMOX_VE_API_TOKEN")
    user, password = variables.get("PROXMOX_VE_USERNAME"), variables.get("PROXMOX_VE_PASSWORD")
    return Access(
        endpoint,
        token=Secret(token) if token else None,
        ticket=(user, Secret(password)) if user and password else None,
        insecure=variables.get("PROXMOX_VE_INSECURE", "").lower() in {"1", "true", "yes"},
        ca_file=variables.get("SSL_CERT_FILE"),
    )


def expected_outputs(cluster: Cluster) -> dict[str, Any]:
    """What a platform layer must put out, from the inventory alone."""
    return {
        "talos_cluster_name": cluster.name,
        "talos_node_ips": {node.name: str(node.address) for node in cluster.nodes},
        "talos_control_plane_ips": [str(n.address) for n in cluster.nodes if n.controller],
        "talos_worker_ips": [str(n.address) for n in cluster.nodes if not n.controller],
    }

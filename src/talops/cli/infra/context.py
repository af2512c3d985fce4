"""What `talops infra` needs before it can run a layer: the engine, the environment, the view."""

from __future__ import annotations

import asyncio
import os
import sys
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from talops.cli.options import Format
from talops.layer import Layer
from talops.redaction import Secret
from talops.site import layer_access as access
from talops.tofu.apply import Applier
from talops.tofu.apply_options import ApplyOptions, Guard, Healthy, NoGuard
from talops.tofu.layers import choose, find_layers
from talops.tofu.policy import Policy

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from talops.events import Emit
    from talops.inventory.model import Cluster
    from talops.tofu.engine import Engine
    from talops.tofu.ordering import Batch

FOLDER = Path(access.HOME)


async def nobody(_: Batch) -> None:
    """For plans that are only shown and for destroys: no nodes come back to wait for."""


@dataclass(frozen=True)
class Order:
    """The options of the command line, the same for all layers."""

    policy: Policy = field(default_factory=Policy)
    healthy: Healthy = nobody
    guard: Guard = field(default_factory=NoGuard)
    parallelism: int | None = None
    extra: Sequence[str] = ()
    destroy: bool = False


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
        return access.layer_engine(self.program, layer, self.variables(layer), self.emit)

    def variables(self, layer: Layer) -> dict[str, str]:
        return access.layer_variables(
            self.cluster, layer.name, self.credentials, self.root, os.environ
        )

    def saved(self, layer: Layer) -> Path:
        return (self.root / FOLDER / f"{layer.state}.tfplan").absolute()

    def applier(self, layer: Layer, order: Order) -> Applier:
        options = ApplyOptions(
            order.policy,
            healthy=order.healthy,
            guard=order.guard,
            parallelism=order.parallelism,
            extra=tuple(order.extra),
            destroy=order.destroy,
        )
        return access.layer_applier(
            self.root, self.engine(layer), self.variables(layer), options, self.cluster
        )


@contextmanager
def context(
    directory: Path | None,
    wanted: list[str] | None,
    output: Format,
    program: str | None = None,
) -> Iterator[Context]:
    """The chosen layers with all they need; shows progress inside the context."""
    from talops.cli.infra.view import open_view
    from talops.cli.tools.progress import progress
    from talops.site.state_passphrase import passphrase_at_hand
    from talops.toolchain.engine import ensure_engine
    from talops.toolchain.install import Toolchain

    root = (directory or Path.cwd()).absolute()
    layers = choose(find_layers(root), wanted, root)
    cluster = inventory_of(root)
    credentials = credentials_of(cluster, root)
    encrypted = cluster is not None and passphrase_at_hand(cluster, root)
    with progress() as emit:
        chain = Toolchain(os.environ, emit=emit)
        engine = asyncio.run(ensure_engine(chain, program, encrypted=encrypted))
    with open_view(json=output is Format.JSON, out=sys.stdout, err=sys.stderr) as view:
        yield Context(root, tuple(layers), engine.path, view, cluster, credentials)


def inventory_of(root: Path) -> Cluster | None:
    """Layers can also be used without an inventory."""
    from talops.inventory.load import CLUSTER_FILE, load

    return load(root).require() if (root / CLUSTER_FILE).exists() else None


def credentials_of(cluster: Cluster | None, root: Path) -> Mapping[str, Secret]:
    return asyncio.run(read_credentials(cluster, root))


async def read_credentials(cluster: Cluster | None, root: Path) -> Mapping[str, Secret]:
    """From the encrypted file; values in a Git-ignored cluster.yaml take precedence."""
    from talops.secrets.vault import FILE, Vault

    kept: Mapping[str, Secret] = {}
    if (root / FILE).exists():
        from talops.cli.secrets.context import in_context

        kept = await in_context(root, lambda found: Vault.of(found.sops).read())
    return {**kept, **(cluster.credentials if cluster else {})}

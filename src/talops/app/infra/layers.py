"""The layers of a directory, opened: the engine, its environment, and how plans are applied."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from talops.app.opening import find_engine, inventory_if_any, read_vault
from talops.events import Note
from talops.pipeline.lease import Fence
from talops.site import layer_access as access
from talops.site.site import ClosedSite
from talops.site.state.own_name import claim
from talops.tofu.apply_options import (
    ApplyOptions,
    Guard,
    Healthy,
    NoGuard,
    Permit,
    Roll,
    no_wait,
    unasked,
)
from talops.tofu.layers import choose, find_layers
from talops.tofu.policy import Policy

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from talops.events import Emit
    from talops.inventory.model import Cluster
    from talops.layer import Layer
    from talops.redaction import Secret
    from talops.tofu.apply import Applier
    from talops.tofu.engine import Engine

FOLDER = Path(access.HOME)


@dataclass(frozen=True)
class Order:
    """How plans are applied, the same for all layers."""

    policy: Policy = field(default_factory=Policy)
    # Plans that are only shown, and destroys, wait for no node.
    healthy: Healthy = no_wait
    guard: Guard = field(default_factory=NoGuard)
    roll: Roll | None = None
    permit: Permit = unasked
    parallelism: int | None = None
    extra: Sequence[str] = ()
    destroy: bool = False


@dataclass(frozen=True)
class OpenLayers:
    """The chosen layers with everything that runs them; the inventory is optional."""

    root: Path
    layers: tuple[Layer, ...]
    program: Path
    emit: Emit
    cluster: Cluster | None
    credentials: Mapping[str, Secret]
    environment: Mapping[str, str]
    # Closed when this command loses the run lock that it shares with other machines.
    fence: Fence = field(default_factory=Fence, compare=False)

    def engine(self, layer: Layer) -> Engine:
        return access.layer_engine(self.program, layer, self.variables(layer), self.emit)

    def variables(self, layer: Layer) -> dict[str, str]:
        found = access.layer_variables(
            self.cluster, layer.name, self.credentials, self.root, self.environment
        )
        return access.fenced(found, self.fence.token)

    async def init(self, extra: Sequence[str] = ()) -> None:
        for layer in self.layers:
            await access.init(self.root, self.engine(layer), self.variables(layer), extra)

    async def ensure_init(self) -> None:
        """Initialise the layers whose files changed since the last `init`."""
        for layer in self.layers:
            await access.ensure_init(self.root, self.engine(layer), self.variables(layer))

    def saved(self, layer: Layer) -> Path:
        return (self.root / FOLDER / f"{layer.slug}.tfplan").absolute()

    def applier(self, layer: Layer, order: Order) -> Applier:
        options = ApplyOptions(
            order.policy,
            healthy=order.healthy,
            guard=order.guard,
            fence=self.fence.check,
            roll=order.roll,
            permit=order.permit,
            parallelism=order.parallelism,
            extra=tuple(order.extra),
            destroy=order.destroy,
        )
        return access.layer_applier(
            self.root, self.engine(layer), self.variables(layer), options, self.cluster
        )


async def open_layers(
    root: Path,
    environment: Mapping[str, str],
    emit: Emit,
    wanted: list[str] | None = None,
    program: str | None = None,
    *,
    offline: bool = False,
) -> OpenLayers:
    """`root` is absolute; `emit` receives the installations, then the events of the engine.

    `offline`: for commands that read only files.
    """
    layers = choose(find_layers(root), wanted, root)
    cluster = inventory_if_any(root)
    kept = await read_vault(root, environment, emit)
    credentials = {**kept, **(cluster.credentials if cluster else {})}
    if cluster and not offline:
        site = ClosedSite(cluster, root, environment, credentials)
        await claim(site, lambda text: emit(Note(text)))
    engine = await find_engine(root, environment, emit, cluster, program)
    return OpenLayers(root, tuple(layers), engine, emit, cluster, credentials, environment)

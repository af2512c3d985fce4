"""Stage `destroy`: destroy what OpenTofu created, the last layer first."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from talops.approval import Impact, Item
from talops.errors import TalopsError
from talops.pipeline.stage import Change, Stage
from talops.plural import count
from talops.render.layers import layers
from talops.site import layer_access as access
from talops.site.resource_progress import ResourceProgress
from talops.site.state.copies import copies_around
from talops.tofu.apply import fleeting
from talops.tofu.apply_options import ApplyOptions
from talops.tofu.plan import VM, module_key
from talops.tofu.policy import Policy

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from talops.layer import Layer
    from talops.pipeline.stage import Reporter, Seen
    from talops.site.site import Site
    from talops.tofu.engine import Engine

DATA = "data."
DESTROY, REMOVE = "destroy", "remove"


@dataclass(frozen=True)
class Facts:
    """Layer → addresses in its state.

    `emptied`: layers with an empty local state whose file is not kept.
    """

    listed: dict[str, tuple[str, ...]]
    emptied: tuple[str, ...] = ()


@dataclass(frozen=True)
class DestroyChange(Change):
    """`addresses`: what is destroyed, and nothing else. Disks are proven right before it."""

    addresses: tuple[str, ...] = ()

    @property
    def impact(self) -> Impact:
        return Impact.DESTROYS

    def items(self) -> tuple[Item, ...]:
        return tuple(
            Item(address, self.impact, module_key(address) or address, "in the state", foreign=None)
            for address in self.addresses
        )


class Destroy(Stage[Facts, Change]):
    name = "destroy"

    def __init__(
        self,
        site: Site,
        report: Reporter,
        *,
        every_layer: bool,
        keep_state: bool,
        allow_destroy: frozenset[str] = frozenset(),
    ) -> None:
        self._site = site
        self._report = report
        self._every_layer = every_layer
        self._keep_state = keep_state
        # VMs to destroy although they are not as the state recorded them.
        self._allow_destroy = allow_destroy

    @property
    def _layers(self) -> list[Layer]:
        """In reverse order of dependency; only the cluster's own layers by default."""
        found = reversed(layers(self._site.cluster))
        return [
            layer.at(self._site.root)
            for layer in found
            if self._every_layer or layer.kind == "platforms"
        ]

    async def observe(self) -> Facts:
        there = [layer for layer in self._layers if layer.path.is_dir()]
        listed = {layer.name: await self._listed(layer) for layer in there}
        empty = [each for each in there if not listed[each.name] and self._files(each)]
        return Facts(listed, tuple(layer.name for layer in empty))

    def plan(self, facts: Facts) -> list[Change]:
        gone = [Change(REMOVE, name, "empty state") for name in facts.emptied]
        return gone + [
            DestroyChange(DESTROY, name, _detail(addresses), addresses=addresses)
            for name, addresses in facts.listed.items()
            if addresses
        ]

    async def apply(self, change: Change) -> None:
        layer = next(layer for layer in self._layers if layer.name == change.target)
        if isinstance(change, DestroyChange):
            await self._destroy(layer, change)
        if not await self._listed(layer):
            for file in self._files(layer):
                file.unlink()

    async def _destroy(self, layer: Layer, change: DestroyChange) -> None:
        engine = await self._engine(layer)
        policy = Policy(everything=True, allow_destroy=self._allow_destroy)
        with fleeting(access.saved_plan(layer)) as saved:
            if await engine.plan(saved, destroy=True):
                applier = access.applier(
                    self._site, layer, engine, ApplyOptions(policy, destroy=True)
                )
                with copies_around(self._site.root, self._site.cluster):
                    await applier.apply(saved, change.items())

    async def verify(self, _: Seen[Facts, Change], /) -> None:
        left = {name: found for name, found in (await self.observe()).listed.items() if found}
        if left:
            name, addresses = next(iter(left.items()))
            raise TalopsError(
                f"the state still lists {count(len(addresses), 'resource')}: "
                f"{', '.join(addresses[:3])}",
                where=name,
                hint="run talops down again, or list them: talops infra state-list",
            )

    async def _listed(self, layer: Layer) -> tuple[str, ...]:
        addresses = await (await self._engine(layer)).state_list()
        return tuple(a for a in addresses if f".{DATA}" not in f".{a}")

    def _files(self, layer: Layer) -> list[Path]:
        """The local state and its backup, unless they are kept."""
        if self._site.cluster.state.kind != "local" or self._keep_state:
            return []
        return sorted(layer.path.glob("terraform.tfstate*"))

    async def _engine(self, layer: Layer) -> Engine:
        engine = access.engine(self._site, layer, ResourceProgress(self._report))
        await access.ensure_init(self._site.root, engine, access.variables(self._site, layer))
        return engine


def _detail(addresses: Sequence[str]) -> str:
    """Every VM by its name: what is confirmed is what is destroyed."""
    number = count(len(addresses), "resource")
    vms = [module_key(a) or a for a in addresses if f"{VM}." in a]
    return f"{number}, with VM {', '.join(vms)}" if vms else number

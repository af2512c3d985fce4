"""Stage `destroy` for one node: destroy its VM and nothing else."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from talops.errors import TalopsError
from talops.pipeline.stage import Absent, Stage
from talops.render.layers import platform
from talops.site import layer_access as access
from talops.site.etcd_guard import guard_of
from talops.site.state.copies import copies_around
from talops.stages.destroy import DestroyChange
from talops.tofu.apply import fleeting
from talops.tofu.apply_options import ApplyOptions
from talops.tofu.policy import Policy

if TYPE_CHECKING:
    from talops.inventory.model import Node
    from talops.pipeline.stage import Reporter, Seen
    from talops.site.secrets_file import SecretsFile
    from talops.site.site import Site
    from talops.tofu.engine import Engine


@dataclass(frozen=True)
class Facts:
    """Addresses of the node's resources in the state."""

    listed: tuple[str, ...]


class DestroyOne(Stage[Facts, DestroyChange]):
    name = "destroy"

    def __init__(
        self, site: Site, node: Node, secrets: SecretsFile, report: Reporter, *, force: bool
    ) -> None:
        self._site = site
        self._node = node
        self._secrets = secrets
        self._report = report
        self._force = force
        found = platform(site.cluster)
        self._layer = found.at(site.root)

    @property
    def _module(self) -> str:
        return f'module.node["{self._node.name}"]'

    async def observe(self) -> Facts | Absent:
        if not self._layer.path.is_dir():
            raise TalopsError(
                "the OpenTofu files do not exist yet, so the VM of this node is unknown",
                where=str(self._layer.path),
                hint="talops up --only configure; if the state was lost: talops recover",
            )
        addresses = await (await self._engine()).state_list()
        return Facts(tuple(a for a in addresses if a.startswith(f"{self._module}.")))

    def plan(self, facts: Facts) -> list[DestroyChange]:
        name = self._node.name
        if not facts.listed:
            return []
        detail = "and its disks; talops up recreates it"
        return [DestroyChange("destroy", f"VM {name}", detail, name, facts.listed)]

    async def apply(self, change: DestroyChange) -> None:
        engine, name = await self._engine(), frozenset({self._node.name})
        policy = Policy(
            allow_destroy=name, allow_unhealthy_etcd=name if self._force else frozenset()
        )
        options = ApplyOptions(
            policy,
            guard=guard_of(self._site, self._secrets, policy),
            destroy=True,
            targets=(self._module,),
        )
        with fleeting(access.saved_plan(self._layer)) as saved:
            if not await engine.plan(saved, destroy=True, targets=[self._module]):
                return
            applier = access.applier(self._site, self._layer, engine, options)
            with copies_around(self._site.root, self._site.cluster):
                await applier.apply(saved, change.items())

    async def verify(self, _: Seen[Facts, DestroyChange], /) -> None:
        facts = await self.observe()
        if isinstance(facts, Facts) and facts.listed:
            raise TalopsError(
                f"the state still lists {', '.join(facts.listed)}",
                where=self._layer.name,
                hint="run the same command again",
            )

    async def _engine(self) -> Engine:
        engine = access.engine(self._site, self._layer, self._report.event)
        await access.ensure_init(self._site.root, engine, access.variables(self._site, self._layer))
        return engine

"""Stages of `talops adopt` around those of `up`: nothing is generated and nothing bootstrapped."""

from __future__ import annotations

from typing import TYPE_CHECKING

from talops.adoption.judging import harmless
from talops.errors import ConflictError, TalopsError
from talops.machineconfig.places import SEALED
from talops.pipeline.stage import Absent
from talops.stages.bootstrap import Bootstrap
from talops.stages.configure import Configure
from talops.stages.provision import Provision

if TYPE_CHECKING:
    from talops.pipeline.stage import Change, Reporter
    from talops.site.secrets_file import SecretsFile
    from talops.site.site import Site
    from talops.stages import bootstrap, configure, provision
    from talops.stages.adopting.take import Take


class ConfigureAdopted(Configure):
    """The generated files of a cluster that has secrets."""

    def plan(self, facts: configure.Facts) -> list[configure.ConfigureChange]:
        if not facts.has_secrets:
            raise TalopsError(
                "the secrets of the running cluster are not in this directory",
                where=SEALED,
                hint="talops talos gen-secrets --from-config controlplane.yaml",
            )
        return super().plan(facts)


class ProvisionRunning(Provision):
    """Tags, descriptions and start orders of VMs, and outputs; nothing that stops a VM."""

    def __init__(self, site: Site, secrets: SecretsFile, report: Reporter, take: Take) -> None:
        super().__init__(site, secrets, report)
        self._take = take

    async def _serving(self) -> frozenset[str]:
        """The plan destroys nothing, so that nodes in service need no protection."""
        return frozenset()

    async def observe(self) -> provision.Facts | Absent:
        if await self._take.pending():
            return Absent("adopt", "existing objects must be imported into the state first")
        return await super().observe()

    def plan(self, facts: provision.Facts) -> list[provision.LayerChange]:
        wrong = [
            f"{change.name}: {change.why or change.effect}"
            for judged in facts.layers.values()
            for change in judged or ()
            if not harmless(change)
        ]
        if wrong:
            raise ConflictError(
                "adoption would change running objects:\n  " + "\n  ".join(wrong),
                where="cluster.yaml, nodes.yaml",
                hint="write to the inventory what the objects have; see docs/adopt.md",
            )
        return super().plan(facts)


class Founded(Bootstrap):
    """Records that etcd was bootstrapped, after every control plane has shown its data."""

    def plan(self, facts: bootstrap.Facts) -> list[Change]:
        planes = set(facts.planes)
        empty = sorted(name for name, plane in facts.planes.items() if not plane.has_data)
        strangers, missing = sorted(facts.members - planes), sorted(planes - facts.members)
        wrong = [
            *([f"without etcd data: {', '.join(empty)}"] if empty else []),
            *([f"not in nodes.yaml: {', '.join(strangers)}"] if strangers else []),
            *([f"not members of etcd: {', '.join(missing)}"] if missing else []),
        ]
        if wrong:
            raise ConflictError(
                f"the members of etcd are not the control planes of nodes.yaml: {'; '.join(wrong)}",
                where="nodes.yaml",
                hint="list every control plane of the running cluster; talops talos etcd members "
                "shows the members",
            )
        return []

"""Stage `provision` in a recovery: plan only when all existing VMs are back in the state."""

from __future__ import annotations

from typing import TYPE_CHECKING

from talops.pipeline.stage import Absent
from talops.stages.provision import Provision

if TYPE_CHECKING:
    from talops.pipeline.stage import Reporter
    from talops.site.secrets_file import SecretsFile
    from talops.site.site import Site
    from talops.stages.adopt import Adopt
    from talops.stages.provision import Facts


class ProvisionAdopted(Provision):
    def __init__(self, site: Site, secrets: SecretsFile, report: Reporter, adopt: Adopt) -> None:
        super().__init__(site, secrets, report)
        self._adopt = adopt

    async def _serving(self) -> frozenset[str]:
        """A cluster that is recovered serves nothing that has to be kept in service."""
        return frozenset()

    async def observe(self) -> Facts | Absent:
        if await self._adopt.pending():
            # A plan would now create VMs that already exist.
            return Absent("adopt", "existing VMs must be imported into the state first")
        return await super().observe()

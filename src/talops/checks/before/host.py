"""Proxmox has and grants what the plan needs: `talops host check`, as one check among others."""

from __future__ import annotations

from typing import TYPE_CHECKING

from talops.pipeline.checks import failed, passed, skipped, warning
from talops.proxmox.check import Severity, findings
from talops.proxmox.check import look as survey
from talops.site.host_wanted import wanted
from talops.site.layer_access import begun_vms
from talops.site.proxmox_access import access_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from talops.pipeline.checks import Finding
    from talops.proxmox.check import Finding as HostFinding
    from talops.site.site import Site


async def look(site: Site, *, strict: bool) -> list[Finding]:
    access = access_of(site)
    if access is None:
        return [failed("no credentials for Proxmox", hint="talops host prepare --user root@pam")]
    if not site.cluster.nodes:
        return [skipped("there are no nodes")]
    asked = wanted(site.cluster, begun_vms(site.root, site.cluster))
    return judge(findings(asked, await survey(access, asked)), access.endpoint, strict=strict)


def judge(found: Sequence[HostFinding], endpoint: str, *, strict: bool) -> list[Finding]:
    """`strict`: leftovers refuse. A run that continues a killed one meets its own."""
    return [
        (failed if _refuses(each, strict=strict) else warning)(
            each.what, each.where or None, each.fix
        )
        for each in found
    ] or [passed("has and grants what the plan needs", endpoint)]


def _refuses(each: HostFinding, *, strict: bool) -> bool:
    return each.severity is Severity.ERROR and (strict or each.rule != "leftover")

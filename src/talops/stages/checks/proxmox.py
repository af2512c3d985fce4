"""`talops host check`, as a part of preflight."""

from __future__ import annotations

from typing import TYPE_CHECKING

from talops.pipeline.checks import failed, passed, warning
from talops.proxmox.check import findings
from talops.proxmox.check import look as look_at_host
from talops.stages.host_wanted import wanted

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from talops.inventory.model import Cluster
    from talops.pipeline.checks import Finding
    from talops.proxmox.check.finding import Finding as HostFinding
    from talops.proxmox.client import Access

# A killed run leaves VMs without name or tags that the next one takes up again; and what could
# not be read for a moment may be readable when it matters.
PASSING = {"vmid", "mac", "address", "unread"}


async def look(cluster: Cluster, access: Callable[[], Access], *, strict: bool) -> list[Finding]:
    asked, reached = wanted(cluster), access()
    facts = await look_at_host(reached, asked)
    return judge(findings(asked, facts), reached.endpoint, strict=strict)


def judge(found: Sequence[HostFinding], endpoint: str, *, strict: bool) -> list[Finding]:
    rows = []
    for each in found:
        grave = each.severity == "error" and (strict or each.rule not in PASSING)
        make = failed if grave else warning
        rows.append(make(each.what, each.where or endpoint, each.fix.replace("\n", "; ")))
    return rows or [passed("offers everything that the plan needs", endpoint)]

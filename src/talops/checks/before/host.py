"""Proxmox provides and permits what the plan needs: `talops host check` as one check."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING

from talops.errors import TalopsError
from talops.pipeline.checks import failed, passed, skipped, warning
from talops.problems import Severity
from talops.proxmox.check import look as survey
from talops.proxmox.check import plugin_problems, problems
from talops.proxmox.client import Token
from talops.proxmox.wanted import RecordedVm
from talops.render.layers import platform
from talops.site import layer_access as access
from talops.site.proxmox.access import access_of
from talops.site.proxmox.wanted import wanted
from talops.tofu.identity import recorded

if TYPE_CHECKING:
    from collections.abc import Sequence

    from talops.pipeline.checks import Finding
    from talops.proxmox.check.problem import HostProblem
    from talops.site.site import Site


# Findings that mean something else if the VM is one of the state.
_IDENTITY = frozenset({"leftover", "vmid", "mac", "address"})


async def look(site: Site) -> list[Finding]:
    reached = access_of(site)
    if reached is None:
        return [failed("no credentials for Proxmox", hint="talops host prepare --user root@pam")]
    if not site.cluster.nodes:
        return [skipped("the inventory has no nodes")]
    asked = wanted(site.cluster, access.begun_vms(site.root, site.cluster))
    seen = await survey(reached, asked)
    found = problems(asked, seen)
    if any(each.rule in _IDENTITY for each in found):
        # Name, tags or MAC of a VM of this cluster may have been changed by hand.
        found = problems(replace(asked, recorded=await _recorded(site)), seen)
    found += await plugin_problems(
        asked, site.credentials, lambda name, value: replace(reached, login=Token(name, value))
    )
    return judge(found, reached.endpoint)


async def _recorded(site: Site) -> dict[int, RecordedVm]:
    """VMs of this cluster in the state; none if the state cannot be read yet."""
    found = platform(site.cluster)
    layer = found.at(site.root)
    engine = access.engine(site, layer, lambda _: None)
    try:
        document = json.loads(await engine.state_pull() or "{}")
    except (TalopsError, OSError, ValueError):
        return {}
    every = recorded(document).values()
    return {vm.vm_id: RecordedVm(vm.name, vm.macs) for vm in every if vm.vm_id is not None}


def judge(found: Sequence[HostProblem], endpoint: str) -> list[Finding]:
    return [
        (failed if each.severity is Severity.ERROR else warning)(
            each.what, each.where or None, each.hint
        )
        for each in found
    ] or [passed("Proxmox provides and permits what the plan needs", endpoint)]

"""What answers at the addresses of the nodes before anything is created."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from talops.errors import DeniedError, NotReadyError, TalopsError, UnreachableError
from talops.pipeline.checks import failed, from_error, passed, skipped, warning
from talops.plural import count
from talops.site.fleet import Configured, InMaintenance, Unreachable
from talops.site.founding import record
from talops.site.site import Site
from talops.talos.client import Talos
from talops.talos.credentials import Maintenance

if TYPE_CHECKING:
    from collections.abc import Mapping

    from talops.inventory.model import Cluster, Node
    from talops.pipeline.checks import Finding
    from talops.site.fleet import State
    from talops.site.site import ClosedSite

    Seen = State | TalopsError

LATE = (
    "expected if an earlier run applied its config: it answers once etcd runs; otherwise "
    "boot it from the Talos image"
)


async def look(site: ClosedSite) -> list[Finding]:
    secrets = site.secrets if isinstance(site, Site) else None
    fleet = await secrets.fleet() if secrets and await secrets.read() else None

    async def one(node: Node) -> Seen:
        try:
            return await (fleet.look(node) if fleet else _stranger(node))
        except NotReadyError as error:  # it is rebooting or installing
            return Unreachable(UnreachableError(error.what, where=error.where))
        except TalopsError as error:
            return error

    nodes = site.cluster.nodes
    seen = dict(zip((n.name for n in nodes), await asyncio.gather(*map(one, nodes)), strict=True))
    return judge(site.cluster, seen, founded=record.exists(site.root))


async def _stranger(node: Node) -> Seen:
    """Without secrets talops can only connect to a node in maintenance mode."""
    async with Talos.connect(str(node.address), Maintenance()) as talos:
        try:
            await talos.version()
        except UnreachableError as error:
            return Unreachable(error)
        except DeniedError as error:
            return TalopsError(
                f"{node.name} already has a config, but this cluster has no secrets",
                where=error.where,
                hint="restore talos/talsecret.sops.yaml, or reset that node",
            )
    return InMaintenance()


def judge(cluster: Cluster, seen: Mapping[str, Seen], *, founded: bool) -> list[Finding]:
    found = [from_error(error) for error in seen.values() if isinstance(error, TalopsError)]
    silent = [name for name, state in seen.items() if isinstance(state, Unreachable)]
    late = [] if founded else _late(cluster, silent)
    found += [warning("does not answer yet", name, LATE) for name in late]
    silent = [name for name in silent if name not in late]
    found += _lost(silent) if founded else _not_there_yet(cluster, silent)
    waiting = sum(1 for state in seen.values() if isinstance(state, InMaintenance))
    configured = sum(1 for state in seen.values() if isinstance(state, Configured))
    if waiting:
        found.append(
            passed(f"{count(waiting, 'node')} in maintenance mode, ready for the first config")
        )
    if configured:
        found.append(passed(f"{count(configured, 'node')} of this cluster answered"))
    return found


def _late(cluster: Cluster, silent: list[str]) -> list[str]:
    """Bare-metal workers that may have their config and wait for a control plane with etcd."""
    planes = {node.name for node in cluster.control_planes}
    if cluster.proxmox or planes & set(silent):
        return []
    return silent


def _lost(silent: list[str]) -> list[Finding]:
    what = "does not answer, although the cluster exists"
    hint = "talops infra plan shows whether its VM runs"
    return [warning(what, name, hint) for name in silent]


def _not_there_yet(cluster: Cluster, silent: list[str]) -> list[Finding]:
    if cluster.proxmox and silent:
        return [skipped(f"no VMs yet for {count(len(silent), 'node')}")]
    hint = "boot it from the Talos image; talops talos schematic shows which one"
    return [failed("does not answer", name, hint) for name in silent]

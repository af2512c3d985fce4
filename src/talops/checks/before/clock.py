"""The local clock agrees with other clocks: certificates and locks depend on it."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING

import httpx

from talops.answersize import limits
from talops.pipeline.checks import failed, passed, unproven, warning
from talops.site.connections import Connections, values_of
from talops.site.site import Site
from talops.talos.kinds import TIME, TIME_ID

if TYPE_CHECKING:
    from collections.abc import Mapping

    from talops.pipeline.checks import Finding
    from talops.site.site import ClosedSite
    from talops.talos.client import Talos

SECONDS = 10.0
# A Date header has a resolution of one second, and the network adds delay; larger differences
# matter.
NOTICEABLE, HARMFUL = 10.0, 120.0
HINT = "set the clock of this machine: timedatectl set-ntp true"


async def look(site: ClosedSite) -> list[Finding]:
    cluster = site.cluster
    servers = {"the Image Factory": cluster.image_factory_url}
    if cluster.proxmox:
        servers["Proxmox"] = cluster.proxmox.api_url
    if cluster.state.kind == "http" and cluster.state.url:
        servers["the state server"] = cluster.state.url
    names = list(servers)
    skews = await asyncio.gather(*(_skew(servers[name]) for name in names))
    return judge(dict(zip(names, skews, strict=True))) + await _nodes(site)


async def _skew(url: str) -> float | None:
    """Only the clock is read, so any certificate is accepted; None: no answer."""
    try:
        async with httpx.AsyncClient(
            verify=False,  # noqa: S501
            timeout=SECONDS,
            event_hooks=limits(),
        ) as client:
            answer = await client.head(url)
        told = parsedate_to_datetime(answer.headers["date"])
    except (httpx.HTTPError, KeyError, ValueError):
        return None
    return (datetime.now(UTC) - told).total_seconds()


def judge(skews: Mapping[str, float | None]) -> list[Finding]:
    found = []
    for name, skew in skews.items():
        if skew is None:
            found.append(unproven(f"{name} did not send its time"))
        elif abs(skew) > HARMFUL:
            what = f"the local clock is {abs(skew):.0f} s {_side(skew)} {name}"
            found.append(failed(what, hint=HINT))
        elif abs(skew) > NOTICEABLE:
            what = f"the local clock is {abs(skew):.0f} s {_side(skew)} {name}"
            found.append(warning(what, hint=HINT))
    agreeing = [name for name, skew in skews.items() if skew is not None]
    if agreeing and not found:
        found = [passed(f"the local clock agrees with {', '.join(agreeing)}")]
    return found


def _side(skew: float) -> str:
    return "ahead of" if skew > 0 else "behind"


async def _nodes(site: ClosedSite) -> list[Finding]:
    """Nodes that run a config report whether their clock is synchronized."""
    if not isinstance(site, Site) or await site.secrets.read() is None:
        return []
    connections = Connections(site, site.secrets)
    answers = await connections.ask(site.cluster.nodes, _synced)
    return [
        warning("the clock is not synchronized", name, "check node_ntp_servers in cluster.yaml")
        for name, synced in values_of(answers).items()
        if not synced
    ]


async def _synced(talos: Talos) -> bool:
    status = await talos.resources.find(TIME, TIME_ID)
    return status is None or status.synced or status.sync_disabled

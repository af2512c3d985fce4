"""Required services are reachable, and the address of the cluster is unused."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from talops.pipeline.checks import failed, passed, skipped
from talops.site.founding import record

if TYPE_CHECKING:
    from collections.abc import Mapping

    from talops.inventory.model import Cluster
    from talops.pipeline.checks import Finding
    from talops.site.site import ClosedSite

SECONDS = 5.0
KUBERNETES = 6443
_PORTS = {"https": 443, "http": 80}


async def look(site: ClosedSite) -> list[Finding]:
    places = wanted(site.cluster)
    errors = await asyncio.gather(*(_connect(*place) for place in places.values()))
    found = judge(places, dict(zip(places, errors, strict=True)))
    if site.cluster.vip and not record.exists(site.root):
        taken = await _connect(str(site.cluster.vip), KUBERNETES) is None
        found.append(judge_vip(str(site.cluster.vip), taken=taken))
    return found or [skipped("no service outside the nodes is needed")]


def wanted(cluster: Cluster) -> dict[str, tuple[str, int]]:
    """Without the Image Factory: the check of the images decides whether it has to answer."""
    urls: dict[str, str] = {}
    if cluster.proxmox:
        urls["proxmox_api_url"] = cluster.proxmox.api_url
    if cluster.state.kind == "http" and cluster.state.url:
        urls["state.url"] = cluster.state.url
    parts = {name: urlsplit(url) for name, url in urls.items()}
    return {
        name: (part.hostname or "", part.port or _PORTS.get(part.scheme, 443))
        for name, part in parts.items()
    }


def judge(places: Mapping[str, tuple[str, int]], errors: Mapping[str, str | None]) -> list[Finding]:
    found = [
        failed(
            f"no connection: {error}",
            where="{}:{}".format(*places[name]),
            hint=f"check {name} in cluster.yaml, the network and the firewall",
        )
        for name, error in errors.items()
        if error is not None
    ]
    good = [f"{host}:{port}" for name, (host, port) in places.items() if errors[name] is None]
    return [*found, *([passed(f"{', '.join(good)} is reachable")] if good else [])]


def judge_vip(vip: str, *, taken: bool) -> Finding:
    if taken:
        return failed(
            "another machine answers at the VIP before this cluster exists",
            where=f"{vip}:{KUBERNETES}",
            hint="choose another cluster_api_addr, or find the machine that uses it",
        )
    return passed(f"the VIP {vip} is unused")


async def _connect(host: str, port: int) -> str | None:
    """None if the connection succeeds."""
    try:
        async with asyncio.timeout(SECONDS):
            _, writer = await asyncio.open_connection(host, port)
    except TimeoutError:
        return f"no answer in {SECONDS:.0f} s"
    except OSError as error:
        return error.strerror or str(error)
    writer.close()
    with contextlib.suppress(OSError):
        await writer.wait_closed()
    return None

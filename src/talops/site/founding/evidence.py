"""What shows that a cluster was bootstrapped before, apart from the control planes themselves."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING

from talops.errors import TalopsError, UnreachableError
from talops.site.fleet import Configured
from talops.site.founding import record
from talops.site.founding.shared import SharedRecord

if TYPE_CHECKING:
    from collections.abc import Sequence

    from talops.inventory.model import Node
    from talops.site.fleet import Fleet
    from talops.site.site import Site

# A kubelet gets it from the API server of its cluster. Talos itself tells by this file whether a
# node has ever joined (v1alpha1_sequencer_tasks.go).
JOINED = "/var/lib/kubelet/pki/kubelet-client-current.pem"


@dataclass(frozen=True)
class Evidence:
    """`what` shows that etcd was bootstrapped, and `where` to look at it."""

    what: str
    where: str

    def __str__(self) -> str:
        return f"{self.what} ({self.where})"


async def find_evidence(site: Site, fleet: Fleet, cluster_id: str) -> tuple[Evidence, ...]:
    """Asked before etcd is bootstrapped; what cannot be read is an error, never "no"."""
    found = on_record(site, cluster_id)
    if found:
        return found
    shared, joined = await asyncio.gather(
        _in_shared_states(site, cluster_id), _joined(fleet, site.cluster.workers)
    )
    return (*shared, *joined)


def on_record(site: Site, cluster_id: str) -> tuple[Evidence, ...]:
    """Files of this directory: nothing else has to be asked."""
    found = []
    if record.founded_here(site.root, cluster_id):
        found.append(Evidence("this directory bootstrapped it", record.RECORD))
    if record.founded_in_repository(site.root, cluster_id):
        found.append(Evidence("the repository says so", record.COMMITTED))
    return tuple(found)


def shared_record(site: Site) -> SharedRecord | None:
    """None if the states are local files."""
    from talops.site.state.backends import backend_of

    if site.cluster.state.kind == "local":
        return None
    return SharedRecord(site.cluster.name, lambda: backend_of(site))


async def _in_shared_states(site: Site, cluster_id: str) -> tuple[Evidence, ...]:
    shared = shared_record(site)
    if shared is None or await shared.read() != record.fingerprint(cluster_id):
        return ()
    place = site.cluster.state.url or site.cluster.state.bucket or ""
    return (Evidence("the shared states say so", place),)


async def _joined(fleet: Fleet, workers: Sequence[Node]) -> tuple[Evidence, ...]:
    """Workers of this cluster's CA that have joined a Kubernetes.

    In a first run workers cannot answer yet: a control plane has to sign their certificate.
    """
    found = await asyncio.gather(*(_has_joined(fleet, node) for node in workers))
    return tuple(
        Evidence(f"{node.name} has joined its Kubernetes", str(node.address))
        for node, joined in zip(workers, found, strict=True)
        if joined
    )


async def _has_joined(fleet: Fleet, node: Node) -> bool:
    try:
        if not isinstance(await fleet.look(node), Configured):
            return False
        async with fleet.talos(node) as talos:
            return await talos.files.exists(JOINED)
    except UnreachableError:
        return False
    except TalopsError as error:
        error.where = f"{node.name} ({error.where or node.address})"
        raise

"""The state of layer 01 has the name of its cluster; older versions shared one name per place."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Protocol

from talops.errors import ConflictError, TalopsError
from talops.render.layers import HYPERVISORS, hypervisors
from talops.statestore.backends.interface import MOVED, held_error
from talops.statestore.backends.locks import NotOfferedError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from talops.inventory.model import Cluster
    from talops.site.site import ClosedSite


class States(Protocol):
    """The states of a remote place, with locks that stay."""

    @property
    def place(self) -> str: ...

    async def read(self, state: str, version: str | None = None) -> bytes | None: ...

    async def write(self, state: str, data: bytes, *, force: bool = False) -> None: ...

    async def acquire(self, name: str, document: Mapping[str, Any]) -> dict[str, Any] | None: ...

    async def close(self) -> None: ...


async def claim(site: ClosedSite, note: Callable[[str], None]) -> None:
    """Copy the state from its older name, if this was not done yet; nothing else is changed."""
    from talops.site.state.backends import run_locks

    if site.cluster.proxmox is None or not site.cluster.hypervisors:
        return
    states = run_locks(site)
    if states is None:  # files of this directory
        return
    try:
        await move(site.cluster, states, note)
    finally:
        await states.close()


async def move(cluster: Cluster, states: States, note: Callable[[str], None]) -> None:
    """The old state keeps its content, locked permanently: no older talops can use it any more."""
    wanted = hypervisors(cluster).state
    if await states.read(wanted) is not None:
        return
    found = await states.read(HYPERVISORS)
    if found is None:
        return
    _require_own(found, cluster, states.place)
    mark = _mark(wanted)
    try:
        held = await states.acquire(HYPERVISORS, mark)
    except NotOfferedError:  # without locks, nothing can keep an older talops from it
        held = None
    if held is not None and held.get("ID") != mark["ID"]:
        raise _held(held, states.place, wanted)
    data = await states.read(HYPERVISORS)
    if data is None:
        raise TalopsError(f"{HYPERVISORS} disappeared while it was copied", where=states.place)
    await states.write(wanted, data)
    if await states.read(wanted) != data:
        raise TalopsError(
            f"{wanted} differs from {HYPERVISORS} after the copy",
            where=states.place,
            hint="the old state is unchanged; run the same command again",
        )
    note(f"{HYPERVISORS} is now {wanted}; the old state stays unchanged and locked")


def _mark(wanted: str) -> dict[str, str]:
    """A lock that says where the state is; the same for every run that moves it."""
    return {
        "ID": f"{MOVED}{wanted}",
        "Operation": f"moved to {wanted}",
        "Who": "talops",
        "Created": datetime.now(UTC).isoformat().replace("+00:00", "Z"),
        "Info": f"use the state {wanted}, which a newer talops does",
    }


def _held(held: Mapping[str, Any], place: str, wanted: str) -> ConflictError:
    if not str(held.get("ID", "")).startswith(MOVED):
        return held_error(HYPERVISORS, held)
    return ConflictError(
        f"{HYPERVISORS} belongs to another cluster: {held.get('Operation')}",
        where=place,
        hint="store the states of this cluster in a project or prefix of their own; if both have "
        f"the same layer 01: talops state restore {wanted} FILE",
    )


def _require_own(data: bytes, cluster: Cluster, place: str) -> None:
    """A state with hosts of another inventory is not moved; an encrypted one cannot be read."""
    hosts = _hosts(data)
    ours = {node.name for node in cluster.hypervisors.nodes} if cluster.hypervisors else set()
    if foreign := sorted(hosts - ours):
        raise ConflictError(
            f"{HYPERVISORS} also contains hosts that are not in this inventory: "
            + ", ".join(foreign),
            where=place,
            hint="run this first in the directory of the cluster that has these hosts; then store "
            "the states of this cluster in a project or prefix of their own",
        )


def _hosts(data: bytes) -> set[str]:
    document = json.loads(data)
    return {
        str(instance["attributes"]["node_name"])
        for resource in document.get("resources") or []
        if resource.get("mode") == "managed"
        for instance in resource.get("instances") or []
        if (instance.get("attributes") or {}).get("node_name")
    }

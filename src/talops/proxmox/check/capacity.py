"""Hosts that are up, memory and cores for what will be created, room on the storages."""

from __future__ import annotations

from typing import TYPE_CHECKING

from talops.proxmox import pveum
from talops.proxmox.check.finding import Finding, Severity, unread
from talops.proxmox.check.ours import images_to_fetch, to_create
from talops.proxmox.facts import Unread
from talops.proxmox.wanted import GIB, MIB

if TYPE_CHECKING:
    from collections.abc import Iterator

    from talops.proxmox.facts import Facts, Guest, Host, Storage
    from talops.proxmox.wanted import Wanted, WantedVm

PER_CORE = 4  # virtual cores per real one, beyond which etcd begins to suffer
IMAGE = 512 * MIB
SMALLEST_DISK = 4 * GIB  # what a Talos node writes in its first minutes, with its images
THIN = frozenset({"lvmthin", "zfspool", "rbd", "dir", "nfs", "cifs", "btrfs", "cephfs"})


def hosts(wanted: Wanted, facts: Facts) -> Iterator[Finding]:
    if isinstance(facts.hosts, Unread):
        yield unread("the hosts", facts.hosts.reason, facts.hosts.hint)
        return
    known = {host.name: host for host in facts.hosts}
    for name in wanted.hosts:
        host = known.get(name)
        if host is None:
            listed = ", ".join(sorted(known)) or "none"
            yield Finding(
                "host",
                f"there is no Proxmox host {name!r}; there are: {listed}",
                "correct proxmox_node, or `host` of the nodes",
                facts.endpoint,
            )
        elif not host.online:
            yield Finding("host", f"host {name} is offline", "start it", facts.endpoint)
        else:
            yield from _host(wanted, facts, host)


def _host(wanted: Wanted, facts: Facts, host: Host) -> Iterator[Finding]:
    new = [vm for vm in to_create(wanted, facts) if vm.host == host.name]
    seen: tuple[Guest, ...] = () if isinstance(facts.guests, Unread) else facts.guests
    running = [guest for guest in seen if guest.host == host.name and guest.running]
    if not new:
        return
    if host.memory is None or host.cores is None:
        yield Finding(
            "memory",
            f"{facts.who} may not see the memory and cores of {host.name}, so nobody knows "
            "whether the VMs fit",
            "grant Sys.Audit on it (talops host prepare)",
            f"/nodes/{host.name}",
            Severity.WARNING,
        )
        return
    yield from _memory(host, host.memory, new, running)
    yield from _cores(host, host.cores, new, running)


def _memory(host: Host, total: int, new: list[WantedVm], running: list[Guest]) -> Iterator[Finding]:
    more = sum(vm.memory for vm in new)
    promised = sum(guest.memory for guest in running)
    less = "give the VMs less memory (vm_memory), or spread them over more hosts (`host`)"
    if promised + more > total:
        yield Finding(
            "memory",
            f"{host.name} has {_gib(total)}: running VMs have {_gib(promised)} of it, and "
            f"{len(new)} more want {_gib(more)}",
            less,
            host.name,
        )
    elif host.used_memory is not None and more > total - host.used_memory:
        yield Finding(
            "memory",
            f"{host.name} has {_gib(total - host.used_memory)} free now, and {len(new)} VMs want "
            f"{_gib(more)}",
            f"free some (a ZFS cache gives way by itself), or {less}",
            host.name,
            Severity.WARNING,
        )


def _cores(host: Host, cores: int, new: list[WantedVm], running: list[Guest]) -> Iterator[Finding]:
    for vm in new:
        if vm.cores > cores:
            yield Finding(
                "cores",
                f"{vm.name} wants {vm.cores} cores, and {host.name} has {cores}: Proxmox will not "
                "start it",
                f"set vm_cores to {cores} or less",
                vm.where or host.name,
            )
    total = sum(vm.cores for vm in new) + sum(guest.cores for guest in running)
    if total > cores * PER_CORE:
        yield Finding(
            "cores",
            f"{host.name} has {cores} cores for {total} virtual ones",
            "give the VMs fewer cores, or spread them over more hosts",
            host.name,
            Severity.WARNING,
        )


def storages(wanted: Wanted, facts: Facts) -> Iterator[Finding]:
    if isinstance(facts.storages, Unread):
        yield unread("the storages", facts.storages.reason, facts.storages.hint)
        return
    known = {(storage.host, storage.name): storage for storage in facts.storages}
    for host, name in _used(wanted, facts):
        if name in wanted.managed.storages and (host, name) not in known:
            continue  # layer 01 makes it
        storage = known.get((host, name))
        if storage is None:
            if _online(facts, host):
                yield _invisible(facts, host, name)
        elif not storage.active:
            yield Finding(
                "storage",
                f"storage {name} is not active on {host}",
                f"see why: pvesm status --storage {name}",
                host,
            )
        else:
            yield from _content(wanted, facts, storage)
    yield from _space(wanted, facts, known)


def _used(wanted: Wanted, facts: Facts) -> list[tuple[str, str]]:
    disks = {(vm.host, vm.storage) for vm in wanted.vms}
    images = {(image.host, image.storage) for image in images_to_fetch(wanted, facts)}
    return sorted(disks | images)


def _online(facts: Facts, host: str) -> bool:
    return not isinstance(facts.hosts, Unread) and any(
        h.name == host and h.online for h in facts.hosts
    )


def _invisible(facts: Facts, host: str, name: str) -> Finding:
    held = {} if isinstance(facts.permissions, Unread) else facts.permissions
    if {"Datastore.Audit", "Datastore.AllocateSpace"} & set(held.get(f"/storage/{name}", {})):
        what = f"{host} has no storage {name}"
        fix = (
            "correct proxmox_disk_storage or proxmox_iso_storage, or add it (hypervisors.storages)"
        )
    else:
        what = f"{host} shows no storage {name}: {facts.who} may not see it, if it is there"
        fix = f"grant the rights on /storage/{name} that are named above, then check again"
    return Finding("storage", what, fix, host)


def _content(wanted: Wanted, facts: Facts, storage: Storage) -> Iterator[Finding]:
    images = images_to_fetch(wanted, facts)
    lacking = {image.content for image in images if image.storage == storage.name}
    lacking |= {"images"} if any(vm.storage == storage.name for vm in wanted.vms) else set()
    lacking -= storage.content
    if lacking and storage.name not in wanted.managed.storages:
        yield Finding(
            "content",
            f"storage {storage.name} may not hold {', '.join(sorted(lacking))}",
            pveum.content_line(storage.name, storage.content | lacking),
            storage.host,
        )


def _space(
    wanted: Wanted, facts: Facts, known: dict[tuple[str, str], Storage]
) -> Iterator[Finding]:
    asked: dict[tuple[str, str], list[int]] = {}
    for vm in to_create(wanted, facts):
        _add(asked, known, vm.host, vm.storage, vm.disk)
    there = frozenset() if isinstance(facts.images, Unread) else facts.images
    for image in images_to_fetch(wanted, facts):
        if f"{image.host}/{image.storage}:{image.content}/{image.file_name}" not in there:
            _add(asked, known, image.host, image.storage, IMAGE)
    for (host, name), sizes in asked.items():
        storage = known[host, name]
        thin = storage.type in THIN
        least = sum(min(size, SMALLEST_DISK) if thin else size for size in sizes)
        more = "free some space, use another storage, or lower vm_disk_size"
        if least > storage.free:
            yield Finding(
                "space",
                f"storage {name} has {_gib(storage.free)} free, and {_gib(least)} are needed",
                more,
                host,
            )
        elif sum(sizes) > storage.free:
            yield Finding(
                "space",
                f"storage {name} has {_gib(storage.free)} free, and the new disks may grow to "
                f"{_gib(sum(sizes))}",
                more,
                host,
                Severity.WARNING,
            )


def _add(
    asked: dict[tuple[str, str], list[int]],
    known: dict[tuple[str, str], Storage],
    host: str,
    name: str,
    size: int,
) -> None:
    storage = known.get((host, name))
    if storage is None:
        return
    place = (host, name)
    if storage.shared:  # it has one free space, whichever host is asked
        place = next(key for key, other in known.items() if other.name == name)
    asked.setdefault(place, []).append(size)


def _gib(size: int) -> str:
    return f"{size / GIB:.0f} GiB" if size >= 10 * GIB else f"{size / GIB:.1f} GiB"

"""Storages: present, active, with the required content types and enough space."""

from __future__ import annotations

from typing import TYPE_CHECKING

from talops.problems import Severity
from talops.proxmox import pveum
from talops.proxmox.check.ours import images_to_fetch, to_create
from talops.proxmox.check.problem import problem, unread
from talops.proxmox.facts import Unread
from talops.proxmox.wanted import GIB, MIB, gib

if TYPE_CHECKING:
    from collections.abc import Iterator

    from talops.proxmox.check.problem import HostProblem
    from talops.proxmox.facts import Facts, Storage
    from talops.proxmox.wanted import Wanted

IMAGE = 512 * MIB
SMALLEST_DISK = 4 * GIB  # what a Talos node writes in its first minutes, with its images
THIN = frozenset({"lvmthin", "zfspool", "rbd", "dir", "nfs", "cifs", "btrfs", "cephfs"})


def storages(wanted: Wanted, facts: Facts) -> Iterator[HostProblem]:
    if isinstance(facts.storages, Unread):
        yield unread("the storages", facts.storages.reason, facts.storages.hint)
        return
    known = {(storage.host, storage.name): storage for storage in facts.storages}
    for host, name in _used(wanted, facts):
        if name in wanted.managed.storages and (host, name) not in known:
            continue  # layer 01 creates it
        storage = known.get((host, name))
        if storage is None:
            if _online(facts, host):
                yield _invisible(facts, host, name)
        elif not storage.active:
            yield problem(
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


def _invisible(facts: Facts, host: str, name: str) -> HostProblem:
    held = {} if isinstance(facts.permissions, Unread) else facts.permissions
    if {"Datastore.Audit", "Datastore.AllocateSpace"} & set(held.get(f"/storage/{name}", {})):
        what = f"{host} has no storage {name}"
        fix = (
            "correct proxmox_disk_storage or proxmox_iso_storage, or add it (hypervisors.storages)"
        )
    else:
        what = f"{host} shows no storage {name}: {facts.who} may not see it, if it exists"
        fix = f"grant the rights on /storage/{name} that are named above, then check again"
    return problem("storage", what, fix, host)


def _content(wanted: Wanted, facts: Facts, storage: Storage) -> Iterator[HostProblem]:
    images = images_to_fetch(wanted, facts)
    lacking = {image.content for image in images if image.storage == storage.name}
    lacking |= {"images"} if any(vm.storage == storage.name for vm in wanted.vms) else set()
    lacking -= storage.content
    if lacking and storage.name not in wanted.managed.storages:
        yield problem(
            "content",
            f"storage {storage.name} may not hold {', '.join(sorted(lacking))}",
            pveum.content_line(storage.name, storage.content | lacking),
            storage.host,
        )


def _space(
    wanted: Wanted, facts: Facts, known: dict[tuple[str, str], Storage]
) -> Iterator[HostProblem]:
    asked: dict[tuple[str, str], list[int]] = {}
    for vm in to_create(wanted, facts):
        _add(asked, known, vm.host, vm.storage, vm.disk)
    there = frozenset() if isinstance(facts.images, Unread) else facts.images
    for image in images_to_fetch(wanted, facts):
        if f"{image.host}/{image.storage}:{image.content}/{image.file_name}" not in there:
            _add(asked, known, image.host, image.storage, IMAGE)
    for place, sizes in asked.items():
        yield from _room(known[place], sizes)


def _room(storage: Storage, sizes: list[int]) -> Iterator[HostProblem]:
    thin = storage.type in THIN
    least = sum(min(size, SMALLEST_DISK) if thin else size for size in sizes)
    free = f"storage {storage.name} has {gib(storage.free)} free"
    more = "free some space, use another storage, or lower vm_disk_size"
    if least > storage.free:
        yield problem("space", f"{free}, and {gib(least)} are needed", more, storage.host)
    elif sum(sizes) > storage.free:
        what = f"{free}, and the new disks may grow to {gib(sum(sizes))}"
        yield problem("space", what, more, storage.host, Severity.WARNING)


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
    if storage.shared:  # its free space is the same on every host
        place = next(key for key, other in known.items() if other.name == name)
    asked.setdefault(place, []).append(size)

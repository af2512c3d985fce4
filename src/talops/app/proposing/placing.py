"""Free memory of hosts → sizes of nodes and the host of each. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from talops.inventory.samples import Choice
from talops.proxmox.wanted import GIB

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from talops.proxmox.facts import Guest, Host

# GiB of a control plane and of a worker, from comfortable to the least that Talos accepts.
SIZES = ((8, 16), (4, 8), (4, 4), (2, 2))
# Proxmox itself, and what qemu needs beyond the memory of each VM.
KEPT = 0.1


@dataclass(frozen=True)
class Room:
    """`free` in bytes; None: the caller may not see the memory of this host."""

    free: int | None
    words: str


@dataclass(frozen=True)
class Sizes:
    controller: Choice
    worker: Choice
    hosts: tuple[str, ...]  # of each control plane, then of each worker


def room(host: Host, guests: Iterable[Guest]) -> Room:
    """What running guests may use counts, not what they happen to use now."""
    if host.memory is None:
        return Room(None, "its memory is not visible to this user")
    running = [g for g in guests if g.host == host.name and g.running and not g.template]
    given = sum(guest.memory for guest in running)
    free = max(0, int(host.memory * (1 - KEPT)) - given)
    return Room(
        free,
        f"{_gib(free)} GiB of {_gib(host.memory)} GiB of memory are free: running guests have "
        f"{_gib(given)} GiB, a tenth stays for Proxmox",
    )


def settle(rooms: Mapping[str, Room], controllers: int, workers: int) -> Sizes:
    """The largest sizes with which every node finds a host."""
    for controller, worker in SIZES:
        hosts = _place(rooms, [controller * GIB] * controllers, [worker * GIB] * workers)
        if hosts is not None:
            why = f"{controllers * controller + workers * worker} GiB for all nodes"
            return Sizes(_size(controller, why), _size(worker, why), hosts)
    controller, worker = SIZES[-1]
    first = max(rooms, key=lambda name: rooms[name].free or 0)
    why = "the least that Talos needs, and still more than is free: plan fewer nodes"
    hosts = (first,) * (controllers + workers)
    return Sizes(_size(controller, why), _size(worker, why), hosts)


def _size(gib: int, why: str) -> Choice:
    return Choice(str(gib * 1024), f"MiB; {why}")


def _place(
    rooms: Mapping[str, Room], controllers: list[int], workers: list[int]
) -> tuple[str, ...] | None:
    """Each role evenly over the hosts, the host with the most free memory first."""
    free = {name: room.free for name, room in rooms.items()}
    chosen: list[str] = []
    for role in (controllers, workers):
        used = dict.fromkeys(free, 0)
        for size in role:
            fit = [name for name, left in free.items() if left is None or left >= size]
            if not fit:
                return None
            best = min(fit, key=lambda name: (used[name], -(free[name] or 0), name))
            used[best] += 1
            left = free[best]
            free[best] = None if left is None else left - size
            chosen.append(best)
    return tuple(chosen)


def _gib(size: int) -> int:
    return size // GIB

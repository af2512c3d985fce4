"""Hosts that are online, with memory and cores for the VMs to create."""

from __future__ import annotations

from typing import TYPE_CHECKING

from talops.problems import Severity
from talops.proxmox.check.ours import to_create
from talops.proxmox.check.problem import problem, unread
from talops.proxmox.facts import Unread
from talops.proxmox.wanted import gib

if TYPE_CHECKING:
    from collections.abc import Iterator

    from talops.proxmox.check.problem import HostProblem
    from talops.proxmox.facts import Facts, Guest, Host
    from talops.proxmox.wanted import Wanted, WantedVm

PER_CORE = 4  # virtual cores per physical core above which etcd becomes slow


def hosts(wanted: Wanted, facts: Facts) -> Iterator[HostProblem]:
    if isinstance(facts.hosts, Unread):
        yield unread("the hosts", facts.hosts.reason, facts.hosts.hint)
        return
    known = {host.name: host for host in facts.hosts}
    for name in wanted.hosts:
        host = known.get(name)
        if host is None:
            listed = ", ".join(sorted(known)) or "none"
            yield problem(
                "host",
                f"there is no Proxmox host {name!r}; there are: {listed}",
                "correct proxmox_node, or `host` of the nodes",
                facts.endpoint,
            )
        elif not host.online:
            yield problem("host", f"host {name} is offline", "start it", facts.endpoint)
        else:
            yield from _host(wanted, facts, host)


def _host(wanted: Wanted, facts: Facts, host: Host) -> Iterator[HostProblem]:
    new = [vm for vm in to_create(wanted, facts) if vm.host == host.name]
    seen: tuple[Guest, ...] = () if isinstance(facts.guests, Unread) else facts.guests
    running = [guest for guest in seen if guest.host == host.name and guest.running]
    if not new:
        return
    if host.memory is None or host.cores is None:
        yield problem(
            "memory",
            f"{facts.who} may not see the memory and cores of {host.name}, so it is unknown "
            "whether the VMs fit",
            "grant Sys.Audit on it (talops host prepare)",
            f"/nodes/{host.name}",
            Severity.WARNING,
        )
        return
    yield from _memory(host, host.memory, new, running)
    yield from _cores(host, host.cores, new, running)


def _memory(
    host: Host, total: int, new: list[WantedVm], running: list[Guest]
) -> Iterator[HostProblem]:
    more = sum(vm.memory for vm in new)
    promised = sum(guest.memory for guest in running)
    less = "give the VMs less memory (vm_memory), or spread them over more hosts (`host`)"
    if promised + more > total:
        yield problem(
            "memory",
            f"{host.name} has {gib(total)}: running VMs have {gib(promised)} of it, and "
            f"{len(new)} more need {gib(more)}",
            less,
            host.name,
        )
    elif host.used_memory is not None and more > total - host.used_memory:
        yield problem(
            "memory",
            f"{host.name} has {gib(total - host.used_memory)} free now, and {len(new)} VMs need "
            f"{gib(more)}",
            f"free some (a ZFS cache shrinks automatically), or {less}",
            host.name,
            Severity.WARNING,
        )


def _cores(
    host: Host, cores: int, new: list[WantedVm], running: list[Guest]
) -> Iterator[HostProblem]:
    for vm in new:
        if vm.cores > cores:
            yield problem(
                "cores",
                f"{vm.name} needs {vm.cores} cores, and {host.name} has {cores}: Proxmox will not "
                "start it",
                f"set vm_cores to {cores} or less",
                vm.where or host.name,
            )
    total = sum(vm.cores for vm in new) + sum(guest.cores for guest in running)
    if total > cores * PER_CORE:
        yield problem(
            "cores",
            f"{host.name} has {cores} cores for {total} virtual ones",
            "give the VMs fewer cores, or spread them over more hosts",
            host.name,
            Severity.WARNING,
        )

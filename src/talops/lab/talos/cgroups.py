"""A node's control groups as the files that Linux shows below /sys/fs/cgroup."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from talops.lab.talos import pods

if TYPE_CHECKING:
    from collections.abc import Iterator

    from talops.lab.talos.machine.node import Node

ROOT = "/sys/fs/cgroup"
_MIB = 2**20
_USED = 30 * _MIB  # of memory, by a program
_USER, _SYSTEM = 0.05, 0.02  # of one processor's time, by a program
# The groups of Talos' services; all others run in the group of the system's runtime.
_GROUPS = {
    "machined": "init",
    "apid": "system/apid",
    "trustd": "system/trustd",
    "udevd": "system/udevd",
    "cri": "podruntime/runtime",
    "etcd": "podruntime/etcd",
    "kubelet": "podruntime/kubelet",
}
_RUNTIME = "system/runtime"
# The memory that Talos reserves for a group, and its limit.
_RESERVED = {
    "init": 96, "system": 96, "system/apid": 16, "system/trustd": 8, "system/udevd": 8,
    "system/runtime": 48, "podruntime": 292, "podruntime/runtime": 196, "podruntime/etcd": 256,
    "podruntime/kubelet": 96,
}  # fmt: skip
_MOST = {"system/apid": 128, "system/trustd": 128}
_PRESSURE = (
    "some avg10=0.00 avg60=0.00 avg300=0.00 total=0\n"
    "full avg10=0.00 avg60=0.00 avg300=0.00 total=0\n"
)


def files(node: Node) -> dict[str, str]:
    """The text of every file, by path."""
    found: dict[str, str] = {}
    groups = _groups(node)
    for group in groups:
        inside = [pid for name, pids in groups.items() if _holds(group, name) for pid in pids]
        folder = f"{ROOT}/{group}" if group else ROOT
        for name, text in _files(node, group, groups[group], len(inside)).items():
            found[f"{folder}/{name}"] = text
    return found


def _groups(node: Node) -> dict[str, list[int]]:
    """The processes of each group; the root's name is empty."""
    found: dict[str, list[int]] = {"": []}
    for group, pid in [*_of_services(node), *_of_pods(node)]:
        parts = group.split("/")
        for depth in range(1, len(parts)):
            found.setdefault("/".join(parts[:depth]), [])
        found.setdefault(group, []).append(pid)
    return dict(sorted(found.items()))


def _of_services(node: Node) -> Iterator[tuple[str, int]]:
    for service in node.services.all():
        if service.state == "Running":
            yield _GROUPS.get(service.id, _RUNTIME), service.pid


def _of_pods(node: Node) -> Iterator[tuple[str, int]]:
    for container in pods.containers(node):
        yield f"kubepods/burstable/pod{container.uid}/{container.internal_id}", container.pid


def _holds(outer: str, inner: str) -> bool:
    return not outer or inner == outer or inner.startswith(f"{outer}/")


def _files(node: Node, group: str, own: list[int], programs: int) -> dict[str, str]:
    pids = "".join(f"{pid}\n" for pid in own)
    uptime = max(time.time() - node.booted_at, 0.0)
    user, system = (int(uptime * share * programs * 1e6) for share in (_USER, _SYSTEM))
    always = {
        "cgroup.procs": pids,
        "cgroup.threads": pids,
        "cpu.stat": f"usage_usec {user + system}\nuser_usec {user}\nsystem_usec {system}\n",
        "cpuset.cpus.effective": f"0-{node.machine.cores - 1}\n",
        "cpuset.mems.effective": "0\n",
        "io.stat": _io(node, programs),
        **dict.fromkeys(("cpu.pressure", "io.pressure", "memory.pressure"), _PRESSURE),
    }
    if not group:
        return always
    always["cpu.stat"] += "nr_periods 0\nnr_throttled 0\nthrottled_usec 0\n"
    return always | _limits(group, programs)


def _io(node: Node, programs: int) -> str:
    """All of it on the system disk."""
    system = node.store.installation().disk
    return "".join(
        f"{device.number} rbytes={programs * _MIB} wbytes={programs * _MIB}"
        f" rios={programs * 100} wios={programs * 100} dbytes=0 dios=0\n"
        for device in node.devices
        if device.path == system
    )


def _limits(group: str, programs: int) -> dict[str, str]:
    """The files that only groups below the root have."""
    used = str(programs * _USED)
    most = f"{_MOST[group] * _MIB}" if group in _MOST else "max"
    values = {
        "cpu.max": "max 100000",
        "cpu.weight": "100",
        "cpu.weight.nice": "0",
        "cpuset.cpus": "",
        "cpuset.mems": "",
        "memory.current": used,
        "memory.peak": used,
        "memory.min": str(_RESERVED.get(group, 0) * _MIB),
        "memory.low": "0",
        "memory.high": "max",
        "memory.max": most,
        **dict.fromkeys(("memory.swap.current", "memory.swap.peak"), "0"),
        **dict.fromkeys(("memory.swap.high", "memory.swap.max"), "max"),
        "memory.zswap.current": "0",
        "memory.zswap.max": "max",
        "memory.zswap.writeback": "1",
        "pids.current": str(programs),
        "pids.peak": str(programs),
        "pids.max": "max",
    }
    return {name: f"{value}\n" for name, value in values.items()}

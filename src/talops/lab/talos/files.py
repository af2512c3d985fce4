"""The few files and directories of a node that clients look at."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from talops.lab.talos.node import Node

ETCD = "/var/lib/etcd"
_DIRECTORY, _LINK, _REGULAR = 0x80000000 | 0o755, 1 << 27 | 0o777, 0o644
_LINKS = {
    "/bin": "usr/bin",
    "/lib": "usr/lib",
    "/lib64": "usr/lib64",
    "/sbin": "usr/bin",
    "/var/run": "/run",
}
_DIRECTORIES = (
    "/", "/.extra", "/boot", "/dev", "/etc", "/etc/kubernetes", "/mnt", "/opt", "/proc",
    "/proc/sys", "/proc/sys/kernel", "/proc/sys/kernel/random", "/root", "/run", "/sys", "/system",
    "/system/state", "/tmp", "/usr",  # noqa: S108  (the node's)
    "/usr/bin", "/usr/lib", "/var", "/var/lib", "/var/lib/cni",
    "/var/lib/containerd", "/var/lib/kubelet", "/var/log", "/var/log/audit", "/var/log/containers",
    "/var/log/pods", "/var/mnt",
)  # fmt: skip
_FILES = (
    "/etc/hostname", "/etc/os-release", "/proc/uptime", "/proc/sys/kernel/random/boot_id",
    "/system/state/config.yaml",
)  # fmt: skip
_BLOCK = 4096


@dataclass(frozen=True)
class Entry:
    """A name in the tree, with what `ls` shows of it."""

    path: str
    size: int
    mode: int
    directory: bool = False
    link: str = ""


def read_file(node: Node, path: str) -> bytes | None:
    if path == "/proc/sys/kernel/random/boot_id":
        return f"{node.boot_id}\n".encode()
    if path == "/proc/uptime":
        uptime = time.time() - node.booted_at
        return f"{uptime:.2f} {uptime * node.machine.cores:.2f}\n".encode()
    if path == "/etc/hostname":
        return f"{node.hostname}\n".encode()
    if path == "/etc/os-release":
        return _os_release(node.version).encode()
    if path == "/system/state/config.yaml":
        return node.store.config()
    return None


def _os_release(version: str) -> str:
    return (
        f'NAME="Talos"\nID=talos\nVERSION_ID={version}\nPRETTY_NAME="Talos ({version})"\n'
        'HOME_URL="https://www.talos.dev/"\n'
        'BUG_REPORT_URL="https://github.com/siderolabs/talos/issues"\n'
        'VENDOR_NAME="Sidero Labs"\nVENDOR_URL="https://www.siderolabs.com/"\n'
    )


def tree(node: Node) -> dict[str, Entry]:
    """Everything that there is, by path."""
    directories = list(_DIRECTORIES)
    if node.config is not None and node.config.control_plane:
        directories += [ETCD, *([f"{ETCD}/member"] if node.control_plane.has_data else [])]
    found = {p: Entry(p, _BLOCK, _DIRECTORY, directory=True) for p in directories}
    found |= {p: Entry(p, len(to), _LINK, link=to) for p, to in _LINKS.items()}
    for path in _FILES:
        content = read_file(node, path)
        if content is not None:
            found[path] = Entry(path, len(content), _REGULAR)
    return found


def below(node: Node, root: str, depth: int) -> list[Entry] | None:
    """The entry itself and what lies up to `depth` levels below; None: there is no such path."""
    every = tree(node)
    start = every.get(root.rstrip("/") or "/")
    if start is None:
        return None
    prefix = f"{start.path.rstrip('/')}/"
    inside = [
        entry
        for path, entry in sorted(every.items())
        if path.startswith(prefix) and path != start.path
        if path.removeprefix(prefix).count("/") < depth
    ]
    return [start, *inside]

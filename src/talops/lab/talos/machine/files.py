"""The files and directories of a node that clients read."""

from __future__ import annotations

import io
import tarfile
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from talops.lab.talos import cgroups

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from talops.lab.talos.machine.node import Node

ETCD = "/var/lib/etcd"
DATABASE = f"{ETCD}/member/snap/db"
KUBELET_PKI = "/var/lib/kubelet/pki"
ALL = 64  # levels
_DIRECTORY, _LINK, _REGULAR = 0x80000000 | 0o755, 1 << 27 | 0o777, 0o644
_PRIVATE = 0o600
_LINKS = {
    "/bin": "usr/bin",
    "/lib": "usr/lib",
    "/lib64": "usr/lib64",
    "/sbin": "usr/bin",
    "/var/run": "/run",
}
_DIRECTORIES = (
    "/", "/.extra", "/boot", "/dev", "/etc", "/etc/kubernetes", "/mnt", "/opt", "/proc",
    "/proc/bus", "/proc/bus/pci", "/proc/sys", "/proc/sys/kernel", "/proc/sys/kernel/random",
    "/root", "/run", "/sys", "/sys/block", "/sys/dev", "/sys/dev/block", "/sys/fs", "/system",
    "/system/state", "/tmp", "/usr",  # noqa: S108  (the node's)
    "/usr/bin", "/usr/lib", "/var", "/var/lib", "/var/lib/cni",
    "/var/lib/containerd", "/var/lib/kubelet", "/var/log", "/var/log/audit", "/var/log/containers",
    "/var/log/pods", "/var/mnt",
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
    if path in _FILES:
        return _FILES[path](node)
    if path == DATABASE:
        file = _database(node)
        return file.read_bytes() if file else None
    text = cgroups.files(node).get(path) if path.startswith(f"{cgroups.ROOT}/") else None
    return None if text is None else text.encode()


def _database(node: Node) -> Path | None:
    """Of the member, whether it runs or not."""
    file = node.store.etcd / "data" / "member" / "snap" / "db"
    return file if node.control_plane.has_data and file.is_file() else None


def _boot_id(node: Node) -> bytes:
    return f"{node.boot_id}\n".encode()


def _hostname(node: Node) -> bytes:
    return f"{node.hostname}\n".encode()


def _config(node: Node) -> bytes | None:
    return node.store.config()


def _uptime(node: Node) -> bytes:
    uptime = time.time() - node.booted_at
    return f"{uptime:.2f} {uptime * node.machine.cores:.2f}\n".encode()


def _cmdline(node: Node) -> bytes:
    """Arguments of the image, and those of the config if the boot loader gets them."""
    install = node.config.install if node.config else {}
    own = [] if install.get("grubUseUKICmdline") else install.get("extraKernelArgs") or []
    return " ".join(["talos.platform=nocloud", "console=ttyS0", *own, ""]).encode()


def _pci(node: Node) -> bytes:
    """The host's bridge, then a network card per slot: slot, ids, interrupt, regions, driver."""
    regions = "\t".join(["0".rjust(16)] * 14)
    cards = [
        f"00{8 * (18 + index):02x}\t1af41000\t{10 + index:x}\t{regions}\tvirtio-pci\n"
        for index in range(len(node.machine.nics))
    ]
    return "".join([f"0000\t80861237\t0\t{regions}\t\n", *cards]).encode()


def _os_release(node: Node) -> bytes:
    version = node.version
    text = (
        f'NAME="Talos"\nID=talos\nVERSION_ID={version}\nPRETTY_NAME="Talos ({version})"\n'
        'HOME_URL="https://www.talos.dev/"\n'
        'BUG_REPORT_URL="https://github.com/siderolabs/talos/issues"\n'
        'VENDOR_NAME="Sidero Labs"\nVENDOR_URL="https://www.siderolabs.com/"\n'
    )
    return text.encode()


_FILES: Mapping[str, Callable[[Node], bytes | None]] = {
    "/etc/hostname": _hostname,
    "/etc/os-release": _os_release,
    "/proc/bus/pci/devices": _pci,
    "/proc/cmdline": _cmdline,
    "/proc/sys/kernel/random/boot_id": _boot_id,
    "/proc/uptime": _uptime,
    "/system/state/config.yaml": _config,
}


def tree(node: Node) -> dict[str, Entry]:
    """All files, by path."""
    directories = list(_DIRECTORIES)
    if node.config is not None and node.config.control_plane:
        directories.append(ETCD)
        if node.control_plane.has_data:
            directories += [f"{ETCD}/member", f"{ETCD}/member/snap"]
    links = _LINKS | {f"/sys/dev/block/{d.number}": f"../../block/{d.name}" for d in node.devices}
    if node.store.joined:
        directories.append(KUBELET_PKI)
        links[f"{KUBELET_PKI}/kubelet-client-current.pem"] = f"{KUBELET_PKI}/kubelet-client.pem"
    groups = cgroups.files(node)
    directories += {path.rpartition("/")[0] for path in groups}
    found = {p: Entry(p, _BLOCK, _DIRECTORY, directory=True) for p in directories}
    found |= {p: Entry(p, len(to), _LINK, link=to) for p, to in links.items()}
    found |= {p: Entry(p, len(text), _REGULAR) for p, text in groups.items()}
    if database := _database(node):
        found[DATABASE] = Entry(DATABASE, database.stat().st_size, _PRIVATE)
    for path in _FILES:
        content = read_file(node, path)
        if content is not None:
            found[path] = Entry(path, len(content), _REGULAR)
    return found


def below(node: Node, root: str, depth: int) -> list[Entry] | None:
    """The entry itself and those up to `depth` levels below; None: the path does not exist."""
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


def archived(node: Node, root: str) -> bytes | None:
    """The files below a path as a compressed tar with relative names; None: it does not exist.

    A path that is a file itself keeps its name.
    """
    entries = below(node, root, ALL)
    if entries is None:
        return None
    packed, groups = io.BytesIO(), cgroups.files(node)
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        for entry in entries:
            content = groups.get(entry.path, "").encode()
            if entry.path in _FILES or entry.path == DATABASE:
                content = read_file(node, entry.path) or b""
            archive.addfile(_header(node, entry, entries[0], len(content)), io.BytesIO(content))
    return packed.getvalue()


def _header(node: Node, entry: Entry, root: Entry, size: int) -> tarfile.TarInfo:
    alone = entry is root and not entry.directory
    name = entry.path.rpartition("/")[2] if alone else relative(entry.path, root.path)
    header = tarfile.TarInfo(f"{name}/" if entry.directory else name)
    header.mode, header.mtime, header.size = entry.mode & 0o777, int(node.booted_at), size
    if entry.directory:
        header.type = tarfile.DIRTYPE
    elif entry.link:
        header.type, header.linkname = tarfile.SYMTYPE, entry.link
    return header


def relative(path: str, root: str) -> str:
    return path.removeprefix(root).strip("/") or "."

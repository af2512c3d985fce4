"""The few files of a node that clients read."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from talops.lab.talos.node import Node


def read_file(node: Node, path: str) -> bytes | None:
    if path == "/proc/sys/kernel/random/boot_id":
        return f"{node.boot_id}\n".encode()
    if path == "/proc/uptime":
        uptime = time.time() - node.booted_at
        return f"{uptime:.2f} {uptime * node.machine.cores:.2f}\n".encode()
    if path == "/etc/hostname":
        return f"{node.hostname}\n".encode()
    if path == "/etc/os-release":
        return f'NAME="Talos"\nID=talos\nVERSION_ID={node.version}\n'.encode()
    if path == "/system/state/config.yaml":
        return node.store.config()
    return None


ETCD = "/var/lib/etcd"


def list_files(node: Node, root: str) -> list[str] | None:
    """Names in a directory that clients look into; None: there is no such directory."""
    if root.rstrip("/") != ETCD or node.config is None or not node.config.control_plane:
        return None
    return ["member"] if node.control_plane.has_data else []

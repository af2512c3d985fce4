"""Reads images as `qemu-img info` does, with the rules of an import."""

from __future__ import annotations

import json
import struct

UNREADABLE = "failed to query file information with qemu-img"
QCOW2, VMDK = b"QFI\xfb", (b"KDMV", b"COWD", b"# Disk DescriptorFile")
SHORTEST = 104  # a qcow2 header
DATA_FILE = 1 << 2  # incompatible feature: the data is in another file


def image_problem(data: bytes, name: str) -> str:
    """Why an import refuses the file, if it does. Raw images may contain anything."""
    kind = name.rpartition(".")[2]
    if stands_for(data):
        return ""  # one of the lab's own small files
    if kind == "qcow2":
        return _qcow2(data)
    if kind == "vmdk" and not data.startswith(VMDK):
        return UNREADABLE
    return ""


def stands_for(data: bytes) -> str:
    """The kind of image that a file of the lab's factory stands for."""
    try:
        header = json.loads(data.split(b"\n", 1)[0])
    except ValueError:
        return ""
    return str(header.get("kind", "")) if isinstance(header, dict) else ""


def _qcow2(data: bytes) -> str:
    if len(data) < SHORTEST or not data.startswith(QCOW2):
        return UNREADABLE
    version, backing = struct.unpack(">IQ", data[4:16])
    if backing:
        return "backing file not allowed for untrusted image!"
    incompatible = struct.unpack(">Q", data[72:80])[0] if version > 2 else 0  # noqa: PLR2004
    if incompatible & DATA_FILE:
        return "'data-file' references are not allowed!"
    return ""

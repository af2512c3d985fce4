"""Which files an import takes: the rules of `file_size_info` in PVE::Storage::Plugin.

It asks `qemu-img info -f FORMAT`, and refuses backing files and data files of what it does not
trust; the layout of a qcow2 header is that of QEMU's docs/interop/qcow2.txt.
"""

from __future__ import annotations

import struct

import pytest

from talops.lab.factory.images import parse
from talops.lab.proxmox.storage.images import UNREADABLE, image_problem

EMPTY = "376567988ad370138ad8b2698212367b8edcb69b5fd68c80be1f2ec7d603b4ba"


def qcow2(*, backing: int = 0, incompatible: int = 0) -> bytes:
    start = b"QFI\xfb" + struct.pack(">IQ", 3, backing)
    return start + bytes(56) + struct.pack(">Q", incompatible) + bytes(1024)


@pytest.mark.parametrize(
    ("data", "name", "problem"),
    [
        (b"whatever", "disk.raw", ""),
        (qcow2(), "disk.qcow2", ""),
        (b"whatever", "disk.qcow2", UNREADABLE),
        (qcow2()[:50], "disk.qcow2", UNREADABLE),
        (b"whatever", "disk.vmdk", UNREADABLE),
        (b"KDMV" + bytes(512), "disk.vmdk", ""),
        (qcow2(backing=1024), "disk.qcow2", "backing file not allowed for untrusted image!"),
        (qcow2(incompatible=4), "disk.qcow2", "'data-file' references are not allowed!"),
    ],
)
def test_files_that_are_imported(data: bytes, name: str, problem: str) -> None:
    """The name says what a file must be; a raw image may be anything."""
    assert image_problem(data, name) == problem


def test_the_factorys_small_files_stand_for_images() -> None:
    """The lab's own images say in their first line what they are."""
    content = parse(EMPTY, "v1.12.4", "nocloud-amd64.qcow2")
    assert content
    assert image_problem(content.content(), "disk.qcow2") == ""

"""The disk to install to, as an expression; the same disks as the selector of 1.13 means."""

from __future__ import annotations

import pytest

from talops.errors import TalopsError
from talops.machineconfig.documents.disk_match import expression

REAL = 'disk.transport != "" && !disk.readonly && !disk.cdrom'


@pytest.mark.parametrize(
    ("disk", "wanted"),
    [
        ("/dev/vda", 'disk.dev_path == "/dev/vda"'),
        ("/dev/disk/by-id/nvme-x", '"/dev/disk/by-id/nvme-x" in disk.symlinks'),
        ({"serial": 'a"b*'}, f'glob("a\\"b*", disk.serial) && {REAL}'),
        (
            {"model": "WD*", "busPath": "/pci0000:00/*"},
            f'glob("WD*", disk.model) && glob("/pci0000:00/*", disk.bus_path) && {REAL}',
        ),
        ({"size": ">= 100GB"}, f"disk.size >= 100000000000u && {REAL}"),
        ({"size": "< 1TiB"}, f"disk.size < {1024**4}u && {REAL}"),
        ({"size": "1.5 GiB"}, f"disk.size == {3 * 512 * 1024**2}u && {REAL}"),
        ({"size": "4096"}, f"disk.size == 4096u && {REAL}"),
        ({"type": "ssd"}, f"!disk.rotational && {REAL}"),
        ({"type": "hdd"}, f"disk.rotational && {REAL}"),
        ({"type": "nvme"}, f'disk.transport == "nvme" && {REAL}'),
        ({"type": "sd"}, f'disk.transport == "mmc" && {REAL}'),
    ],
)
def test_expression(disk: str | dict[str, str], wanted: str) -> None:
    """Paths by name or by link; every field of the selector; never a CD or a mapped device."""
    assert expression(disk) == wanted


@pytest.mark.parametrize(
    ("disk", "message"),
    [
        ({"size": "big"}, "is not a condition on the size"),
        ({"name": "sda"}, "cannot select a disk by name"),
    ],
)
def test_what_cannot_be_said(disk: dict[str, str], message: str) -> None:
    """Refused here, and not by a node that then installs nowhere."""
    with pytest.raises(TalopsError, match=message):
        expression(disk)

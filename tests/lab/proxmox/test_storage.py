"""Storages: what they hold, how they name it, and what happens when they are full."""

from __future__ import annotations

import gzip
import hashlib
from typing import TYPE_CHECKING, Any

import pytest
from tests.lab.proxmox.conftest import running

from talops.lab.factory.images import parse as image
from talops.lab.spec import STORAGES, HypervisorSpec, LabSpec, NodeSpec, StorageSpec

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from tests.lab.proxmox.conftest import Pve

EMPTY = "376567988ad370138ad8b2698212367b8edcb69b5fd68c80be1f2ec7d603b4ba"
KINDS = (
    StorageSpec(
        storage="files",
        type="dir",
        content="images,iso,import",
        size_gib=10,
        options={"path": "/srv"},
    ),
    StorageSpec(
        storage="thick", type="lvm", content="images", size_gib=10, options={"vgname": "vg"}
    ),
    StorageSpec(
        storage="tank", type="zfspool", content="images", size_gib=10, options={"pool": "tank/vm"}
    ),
    StorageSpec(
        storage="nas",
        type="nfs",
        content="images,iso",
        size_gib=10,
        shared=True,
        options={"server": "127.0.0.9", "export": "/tank"},
    ),
)
SPEC = LabSpec(
    proxmox=(
        HypervisorSpec(name="pve", nodes=(NodeSpec(name="pve"),), storages=(*STORAGES, *KINDS)),
    )
)
ISO = "nocloud-amd64.iso"


@pytest.fixture
async def pve(tmp_path: Path) -> AsyncIterator[Pve]:
    async with running(tmp_path / "lab", SPEC) as client:
        yield client


def url(pve: Pve, name: str = ISO, version: str = "v1.12.4") -> str:
    return f"{pve.world.factory.endpoints()['url']}/image/{EMPTY}/{version}/{name}"


async def fetch(pve: Pve, name: str = ISO, **more: Any) -> str:
    given = {"content": "iso", "filename": name, "url": url(pve, name), **more}
    return await pve.task("POST", "/nodes/pve/storage/local/download-url", **given)


@pytest.mark.parametrize(
    ("storage", "drive", "volid"),
    [
        ("local-lvm", "", "local-lvm:vm-101-disk-0"),
        ("files", "", "files:101/vm-101-disk-0.raw"),
        ("files", ",format=qcow2", "files:101/vm-101-disk-0.qcow2"),
        ("thick", "", "thick:vm-101-disk-0"),
        ("tank", "", "tank:vm-101-disk-0"),
        ("nas", "", "nas:101/vm-101-disk-0.raw"),
    ],
)
async def test_names_of_disks(pve: Pve, storage: str, drive: str, volid: str) -> None:
    """Each kind of storage names volumes in its own way."""
    assert await pve.task("POST", "/nodes/pve/qemu", vmid=101, scsi0=f"{storage}:1{drive}") == "OK"
    config = await pve.call("GET", "/nodes/pve/qemu/101/config")
    assert config["scsi0"] == f"{volid},size=1G"
    found = await pve.call("GET", f"/nodes/pve/storage/{storage}/content/{volid}")
    assert found["size"] == 1 << 30
    assert found["format"] == ("qcow2" if "qcow2" in drive else "raw")


@pytest.mark.parametrize(
    ("storage", "reason"),
    [
        ("thick", 'Volume group "vg" has insufficient free space'),
        ("tank", "zfs error: cannot create 'tank/vm/vm-102-disk-0': out of space"),
    ],
)
async def test_thick_storages_fill_up(pve: Pve, storage: str, reason: str) -> None:
    """What does not fit is refused with the error of that storage, and the VM does not exist."""
    assert await pve.task("POST", "/nodes/pve/qemu", vmid=101, scsi0=f"{storage}:8") == "OK"
    status = await pve.call("GET", f"/nodes/pve/storage/{storage}/status")
    assert (status["total"], status["avail"]) == (10 << 30, 2 << 30)
    assert reason in await pve.task("POST", "/nodes/pve/qemu", vmid=102, scsi0=f"{storage}:4")
    assert [vm["vmid"] for vm in await pve.call("GET", "/nodes/pve/qemu")] == [101]
    assert reason.replace("102", "101")[:20] in await pve.task(
        "PUT", "/nodes/pve/qemu/101/resize", disk="scsi0", size="+4G"
    )


async def test_thin_storages_promise_more_than_they_have(pve: Pve) -> None:
    """Blank disks take nothing until something is written."""
    assert await pve.task("POST", "/nodes/pve/qemu", vmid=101, scsi0="files:400") == "OK"
    assert (await pve.call("GET", "/nodes/pve/storage/files/status"))["used"] == 0


async def test_downloads_are_real(pve: Pve) -> None:
    """The file is the factory's, byte by byte; the checksum is checked; twice is refused."""
    content = image(EMPTY, "v1.12.4", ISO)
    assert content
    digest = hashlib.sha512(content.content()).hexdigest()
    sums = {"checksum": digest, "checksum-algorithm": "sha512"}
    assert await fetch(pve, **sums) == "OK"
    volume = pve.world.proxmox.hypervisors["pve"].storages.volume(f"local:iso/{ISO}", "pve")
    assert volume.path
    assert volume.path.read_bytes() == content.content()
    assert "refusing to override existing file" in await fetch(pve)
    listed = await pve.call("GET", "/nodes/pve/storage/local/content", content="iso")
    assert [row["volid"] for row in listed] == [f"local:iso/{ISO}"]


async def test_a_wrong_checksum_keeps_nothing(pve: Pve) -> None:
    """The task says what it got and what it wanted."""
    ended = await fetch(pve, checksum="0" * 64, **{"checksum-algorithm": "sha256"})
    assert ended.startswith("checksum mismatch: got '")
    assert await pve.call("GET", "/nodes/pve/storage/local/content") == []


async def test_metadata_of_a_url(pve: Pve) -> None:
    """Name, type and size without the body."""
    found = await pve.call("GET", "/nodes/pve/query-url-metadata", url=url(pve))
    assert found == {"filename": ISO, "mimetype": "application/octet-stream", "size": 64 << 10}
    missing = await pve.send("GET", "/nodes/pve/query-url-metadata", url=url(pve, version="v0.0.1"))
    assert missing.reason_phrase == "invalid server response: '404 Not Found'"


async def test_an_unknown_certificate_is_refused(pve: Pve) -> None:
    """The host checks certificates unless it is told not to."""
    pve.world.proxmox.hypervisors["pve"].trust = None
    refused = await pve.send("GET", "/nodes/pve/query-url-metadata", url=url(pve))
    assert "certificate" in refused.reason_phrase.lower()
    loose = {"url": url(pve), "verify-certificates": 0}
    assert (await pve.send("GET", "/nodes/pve/query-url-metadata", **loose)).is_success


@pytest.mark.parametrize("packed", ["gz", "zst"])
async def test_packed_images_are_unpacked(pve: Pve, packed: str) -> None:
    """What lands on the storage is the image itself."""
    name = "talos.img"
    more = {"filename": name, "url": url(pve, f"nocloud-amd64.raw.{packed}"), "compression": packed}
    assert await fetch(pve, **more) == "OK"
    volume = pve.world.proxmox.hypervisors["pve"].storages.volume(f"local:iso/{name}", "pve")
    content = image(EMPTY, "v1.12.4", "nocloud-amd64.raw")
    assert content
    assert volume.path
    assert volume.path.read_bytes() == content.content()


@pytest.mark.parametrize(
    ("more", "status", "reason"),
    [
        ({"filename": "talos.exe"}, 400, "Parameter verification failed."),
        ({"content": "vztmpl", "storage": "nas"}, 500, "storage 'nas' is not configured for"),
        ({"storage": "tank"}, 500, "can't upload to storage type 'zfspool'"),
    ],
)
async def test_downloads_that_are_refused(
    pve: Pve, more: dict[str, str], status: int, reason: str
) -> None:
    """Before anything is fetched."""
    storage = more.pop("storage", "local")
    given = {"content": "iso", "filename": ISO, "url": url(pve), **more}
    answer = await pve.send("POST", f"/nodes/pve/storage/{storage}/download-url", **given)
    assert answer.status_code == status
    assert answer.reason_phrase.startswith(reason)


async def test_only_isos_are_unpacked(pve: Pve) -> None:
    """The task says so, and that there is nothing to unpack xz with."""
    more = {"filename": "a.raw", "content": "import", "compression": "gz"}
    assert await fetch(pve, **more) == "decompression not supported for import"
    assert await fetch(pve, compression="xz") == "no decompression method found"


async def test_a_full_directory_refuses_downloads(pve: Pve) -> None:
    """No space left, and no half of a file."""
    pve.world.proxmox.hypervisors["pve"].storages.capacity.put("local", {"bytes": 1000})
    assert "No space left on device" in await fetch(pve)
    assert await pve.call("GET", "/nodes/pve/storage/local/content") == []


async def test_uploads(pve: Pve) -> None:
    """A multipart form; an upload replaces what was there."""
    for text in (b"one", gzip.compress(b"two", mtime=0)):
        answer = await pve.http.post(
            "/nodes/pve/storage/local/upload",
            data={"content": "iso"},
            files={"filename": ("own.iso", text)},
        )
        assert answer.is_success, answer.text
        await pve.world.proxmox.hypervisors["pve"].tasks.wait(answer.json()["data"])
    found = await pve.call("GET", "/nodes/pve/storage/local/content/local:iso/own.iso")
    assert found["size"] == len(text)


async def test_imports_take_the_size_of_the_image(pve: Pve) -> None:
    """The disk is as large as the image says, and grows afterwards."""
    name = "nocloud-amd64.qcow2"
    assert await fetch(pve, name, content="import") == "OK"
    disk = f"local-lvm:0,import-from=local:import/{name},size=1,format=raw"
    assert await pve.task("POST", "/nodes/pve/qemu", vmid=101, scsi0=disk) == "OK"
    config = await pve.call("GET", "/nodes/pve/qemu/101/config")
    assert config["scsi0"] == "local-lvm:vm-101-disk-0,size=4G"
    grown = {"disk": "scsi0", "size": str(10 << 30)}
    assert await pve.task("PUT", "/nodes/pve/qemu/101/resize", **grown) == "OK"
    small = {"disk": "scsi0", "size": "1G"}
    assert await pve.task("PUT", "/nodes/pve/qemu/101/resize", **small) == (
        "shrinking disks is not supported"
    )
    config = await pve.call("GET", "/nodes/pve/qemu/101/config")
    assert config["scsi0"] == "local-lvm:vm-101-disk-0,size=10G"


async def test_moving_a_disk(pve: Pve) -> None:
    """To another storage; the old volume goes or stays as unused."""
    await pve.task("POST", "/nodes/pve/qemu", vmid=101, scsi0="local-lvm:2,ssd=1")
    move = {"disk": "scsi0", "storage": "files"}
    assert await pve.task("POST", "/nodes/pve/qemu/101/move_disk", **move) == "OK"
    config = await pve.call("GET", "/nodes/pve/qemu/101/config")
    assert config["scsi0"] == "files:101/vm-101-disk-0.raw,size=2G,ssd=1"
    assert config["unused0"] == "local-lvm:vm-101-disk-0"
    back = {"disk": "scsi0", "storage": "tank", "delete": 1}
    assert await pve.task("POST", "/nodes/pve/qemu/101/move_disk", **back) == "OK"
    assert await pve.call("GET", "/nodes/pve/storage/files/content") == []


async def test_removing_what_is_not_there(pve: Pve) -> None:
    """Is not a failure: the log of the task says that nothing existed."""
    path = "/nodes/pve/storage/local/content/local:iso/none.iso"
    assert await pve.task("DELETE", path) == "OK"

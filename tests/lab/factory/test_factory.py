"""The lab's Image Factory: schematics with the real ids, and images that say what they are."""

from __future__ import annotations

import gzip
import json
import lzma
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from talops.lab import zstd
from talops.lab.factory.schematic import SchematicError, canonical, schematic_id
from talops.lab.world import World

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

EMPTY = "376567988ad370138ad8b2698212367b8edcb69b5fd68c80be1f2ec7d603b4ba"
AGENT = "ce4c980550dd2ab1b17bbf2b08801c7eb59418eafe8f279833297925d67c7515"


def extensions(*names: str) -> dict[str, Any]:
    return {"customization": {"systemExtensions": {"officialExtensions": list(names)}}}


@pytest.fixture
async def factory(tmp_path: Path) -> AsyncIterator[httpx.AsyncClient]:
    async with (
        World(tmp_path / "lab") as world,
        httpx.AsyncClient(
            base_url=world.factory.endpoints()["url"], verify=world.authority.client_context()
        ) as http,
    ):
        yield http


@pytest.mark.parametrize(
    ("schematic", "wanted"),
    [
        (None, EMPTY),
        ({}, EMPTY),
        ({"customization": {"extraKernelArgs": []}}, EMPTY),
        (extensions("siderolabs/qemu-guest-agent"), AGENT),
    ],
)
def test_known_ids(schematic: Any, wanted: str) -> None:
    """The ids that the real factory gives."""
    assert schematic_id(canonical(schematic)) == wanted


def test_fields_have_one_order_and_lists_keep_theirs() -> None:
    """The same schematic in another order has the same id; another list has not."""
    one = {
        "customization": {"extraKernelArgs": ["a=1", "b=2"], "meta": [{"key": 10, "value": "x"}]}
    }
    two = {
        "customization": {"meta": [{"value": "x", "key": 10}], "extraKernelArgs": ["a=1", "b=2"]}
    }
    assert canonical(one) == canonical(two)
    assert canonical(one) == (
        "customization:\n"
        "    extraKernelArgs:\n"
        "        - a=1\n"
        "        - b=2\n"
        "    meta:\n"
        "        - key: 10\n"
        "          value: x\n"
    )


@pytest.mark.parametrize(
    "wrong", [{"colour": "red"}, {"customization": {"colour": 1}}, ["a"], "text"]
)
def test_unknown_fields_are_refused(wrong: Any) -> None:
    """As the real factory refuses them."""
    with pytest.raises(SchematicError):
        canonical(wrong)


async def test_schematics_are_kept(factory: httpx.AsyncClient) -> None:
    """Posted once, read back as canonical YAML."""
    text = "customization: {systemExtensions: {officialExtensions: [siderolabs/qemu-guest-agent]}}"
    made = await factory.post("/schematics", content=text)
    assert (made.status_code, made.json()["id"]) == (201, AGENT)
    read = await factory.get(f"/schematics/{AGENT}")
    assert read.text == canonical(extensions("siderolabs/qemu-guest-agent"))
    assert (await factory.get(f"/schematics/{'0' * 64}")).status_code == 404


NO_SUCH = "customization: {systemExtensions: {officialExtensions: [siderolabs/no-such-thing]}}"


@pytest.mark.parametrize("text", ["colour: red", "a: [", NO_SUCH])
async def test_wrong_schematics(factory: httpx.AsyncClient, text: str) -> None:
    """400, with a reason."""
    answer = await factory.post("/schematics", content=text)
    assert answer.status_code == 400
    assert answer.text.strip()


async def test_versions_and_extensions(factory: httpx.AsyncClient) -> None:
    """Lists that a chooser can be built on."""
    versions = (await factory.get("/versions")).json()
    assert "v1.12.4" in versions
    found = (await factory.get("/version/v1.12.4/extensions/official")).json()
    assert "siderolabs/qemu-guest-agent" in {row["name"] for row in found}
    assert (await factory.get("/version/v0.1.0/extensions/official")).status_code == 404


@pytest.mark.parametrize("packed", ["", ".gz", ".xz", ".zst"])
async def test_images_say_what_they_are(factory: httpx.AsyncClient, packed: str) -> None:
    """The first line of the image is JSON, whatever it was packed with."""
    answer = await factory.get(f"/image/{EMPTY}/v1.12.4/nocloud-amd64-secureboot.raw{packed}")
    unpack = {".gz": gzip.decompress, ".xz": lzma.decompress, ".zst": zstd.decompress}
    body = unpack[packed](answer.content) if packed else answer.content
    header = json.loads(body.split(b"\n", 1)[0])
    assert {key: header[key] for key in ("schematic", "version", "platform", "arch")} == {
        "schematic": EMPTY,
        "version": "v1.12.4",
        "platform": "nocloud",
        "arch": "amd64",
    }
    assert (header["secureboot"], header["kind"]) == (True, "raw")
    assert len(body) == 64 << 10


@pytest.mark.parametrize(
    ("path", "status"),
    [
        (f"/image/{'0' * 64}/v1.12.4/metal-amd64.iso", 404),
        (f"/image/{EMPTY}/v9.9.9/metal-amd64.iso", 404),
        (f"/image/{EMPTY}/v1.12.4/metal-amd64.exe", 400),
    ],
)
async def test_images_that_are_not_there(
    factory: httpx.AsyncClient, path: str, status: int
) -> None:
    """An unknown schematic, version or file."""
    assert (await factory.get(path)).status_code == status


@pytest.mark.parametrize("data", [b"", b"a", b"\0" * 300_000, bytes(range(256)) * 2000])
def test_zstandard_frames(data: bytes) -> None:
    """What goes in comes out; repeated bytes get small."""
    packed = zstd.compress(data)
    assert zstd.decompress(packed) == data
    if len(set(data)) == 1 and len(data) > 1:
        assert len(packed) < 100


def test_not_a_frame() -> None:
    """Anything else is refused."""
    with pytest.raises(ValueError, match="not a Zstandard frame"):
        zstd.decompress(b"PK\x03\x04")

"""Downloads and uploads: files are really fetched, verified and unpacked."""

from __future__ import annotations

import bz2
import gzip
import hashlib
import re
from typing import TYPE_CHECKING

from talops.lab import zstd
from talops.lab.proxmox.errors import failed, invalid
from talops.lab.proxmox.routing import route
from talops.lab.proxmox.schema.formats import split_list
from talops.lab.proxmox.storage.images import image_problem
from talops.lab.proxmox.storage.names import FILE_TYPES
from talops.lab.proxmox.storage.storages import FOLDERS, FORMATS
from talops.lab.proxmox.storage.urls import get
from talops.lab.proxmox.storage.volumes import Volume

if TYPE_CHECKING:
    from collections.abc import Callable

    from talops.lab.proxmox.call import Call
    from talops.lab.proxmox.tasks import Task

ENDINGS = {
    "iso": re.compile(r"[^/]+\.(?:iso|img)", re.IGNORECASE),
    "vztmpl": re.compile(r"[^/]+\.tar(?:\.(?:gz|xz|zst|bz2))?", re.IGNORECASE),
    "import": re.compile(r"[A-Za-z0-9.+=_-]+\.(?:ova|qcow2|raw|vmdk)"),
}
UNPACKERS = {
    "gz": "gunzip -c",
    "lzo": "lzop -d -c",
    "zst": "zstd -q -d -c",
    "bz2": "bzip2 -d -c",
}
UNPACK: dict[str, Callable[[bytes], bytes]] = {
    "gz": gzip.decompress,
    "bz2": bz2.decompress,
    "zst": zstd.decompress,
}


@route("POST", "/nodes/{node}/storage/{storage}/download-url")
def download(call: Call) -> str:
    content = call.params["content"]
    name = _check_target(call, call.params["filename"], content)

    async def work(task: Task) -> None:
        await _fetch(call, task, name, content)

    return call.start("download", name, work)


def _check_target(call: Call, wanted: str, content: str) -> str:
    """The name of the new file: without directories and special characters."""
    storage = call.params["storage"]
    found = call.pve.storages.on_node(storage, call.node)
    if found["type"] not in FILE_TYPES:
        kind = f"can't upload to storage type '{found['type']}'"
        raise failed(f"{kind}, not a file based storage!")
    if content not in split_list(str(found.get("content", ""))):
        raise failed(f"storage '{storage}' is not configured for content-type '{content}'")
    name = re.sub(r"[^A-Za-z0-9_.-]", "_", re.sub(r"^.*[/\\]", "", wanted))
    if not ENDINGS[content].fullmatch(name):
        imported = "invalid filename or wrong extension"
        raise invalid({"filename": imported if content == "import" else "wrong file extension"})
    return name


def _path(call: Call, name: str, content: str) -> str:
    volid = f"{call.params['storage']}:{content}/{name}"
    return call.pve.storages.path_of(volid, content)


async def _fetch(call: Call, task: Task, name: str, content: str) -> None:
    packed, path, url = call.get("compression"), _path(call, name, content), call.params["url"]
    if packed and content != "iso":
        raise failed(f"decompression not supported for {content}")
    if packed and packed not in UNPACKERS:
        raise failed("no decompression method found")
    task.log(f"downloading {url} to {path}")
    if call.pve.storages.find(f"{call.params['storage']}:{content}/{name}", call.node):
        return _compare(call, task, name, content)
    await task.step("download")
    data = await get(call, url)
    task.log(f"'{path}.tmp_dwnl.{task.record.pid}' saved [{len(data)}/{len(data)}]")
    await task.step("verify")
    _verify(call, task, data)
    if packed:
        data = _unpack(packed, data, f"{path}.tmp_dwnl.{task.record.pid}")
    _check_image(name, content, data)
    _keep(call, name, content, data)
    task.log(f"download of '{url}' to '{path}' finished")
    return None


def _compare(call: Call, task: Task, name: str, content: str) -> None:
    """An existing file stays; if its checksum matches, it is the requested one."""
    volid = f"{call.params['storage']}:{content}/{name}"
    volume = call.pve.storages.find(volid, call.node)
    wanted = str(call.get("checksum") or "").lower()
    if not wanted or volume is None or volume.path is None:
        raise failed(f"refusing to override existing file '{_path(call, name, content)}'")
    got = hashlib.new(call.params["checksum-algorithm"], volume.path.read_bytes()).hexdigest()
    if got != wanted:
        raise failed(f"checksum mismatch: got '{got}' != expect '{wanted}', aborting")
    task.log("OK, got correct file already, no need to download")


def _verify(call: Call, task: Task, data: bytes) -> None:
    algorithm, wanted = call.get("checksum-algorithm"), call.get("checksum")
    if not algorithm:
        return
    got = hashlib.new(algorithm, data).hexdigest()
    if got != str(wanted).lower():
        task.log("calculating checksum...")
        raise failed(f"checksum mismatch: got '{got}' != expect '{wanted}'")
    task.log("calculating checksum...OK, checksum verified")


def _check_image(name: str, content: str, data: bytes) -> None:
    """The output of `qemu-img info` for an image to import."""
    problem = image_problem(data, name) if content == "import" else ""
    if problem:
        raise failed(f"failed to verify file: {problem}")


def _unpack(algorithm: str, data: bytes, path: str) -> bytes:
    unpack = UNPACK.get(algorithm)
    try:
        if unpack:
            return unpack(data)
    except (OSError, EOFError, ValueError) as error:
        problem = f"command '{UNPACKERS[algorithm]} {path}' failed: exit code 1"
        raise failed(problem) from error
    raise failed(f"command '{UNPACKERS[algorithm]} {path}' failed: exit code 1")


def _keep(call: Call, name: str, content: str, data: bytes) -> None:
    storages, storage = call.pve.storages, call.params["storage"]
    volid = f"{storage}:{content}/{name}"
    storages.reserve(storage, call.node, len(data), name)
    target = storages.folder(storage, call.node) / FOLDERS[content] / name
    target.parent.mkdir(parents=True, exist_ok=True)
    target.unlink(missing_ok=True)
    target.write_bytes(data)
    suffix = name.rpartition(".")[2]
    volume = Volume(
        volid=volid,
        node="" if storages.shared(storage) else call.node,
        content=content,
        format=FORMATS.get(content, suffix),
        size=len(data),
        used=len(data),
        ctime=int(call.pve.clock.now()),
        file=str(target),
    )
    storages.volumes.put(volume.key, volume)


@route("POST", "/nodes/{node}/storage/{storage}/upload")
def upload(call: Call) -> str:
    if call.upload is None:
        raise invalid({"filename": "property is missing and it is not optional"})
    sent, content = call.upload, call.params["content"]
    name = _check_target(call, sent.filename, content)

    async def work(task: Task) -> None:
        await task.step(
            "upload", f"starting file import from: /var/tmp/pveupload-{task.record.pid}"
        )
        _verify(call, task, sent.content)
        _check_image(name, content, sent.content)
        volid = f"{call.params['storage']}:{content}/{name}"
        old = call.pve.storages.find(volid, call.node)
        if old:  # unlike a download, an upload replaces
            call.pve.storages.remove(old)
        _keep(call, name, content, sent.content)
        task.log("finished file import successfully")

    return call.start("imgcopy", "", work)

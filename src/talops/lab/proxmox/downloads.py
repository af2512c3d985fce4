"""Files that come from elsewhere: really fetched, checked, unpacked, or uploaded."""

from __future__ import annotations

import bz2
import gzip
import hashlib
import re
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

from talops.lab import zstd
from talops.lab.proxmox.checks import NETWORK_ACCESS, both, perm
from talops.lab.proxmox.errors import failed, invalid
from talops.lab.proxmox.routing import route
from talops.lab.proxmox.storages import FOLDERS, FORMATS
from talops.lab.proxmox.volnames import FILE_TYPES
from talops.lab.proxmox.volumes import Volume

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable

    from aiohttp import ClientResponse, ClientSession

    from talops.lab.proxmox.call import Call
    from talops.lab.proxmox.tasks import Task

ENDINGS = {
    "iso": r"\.(iso|img)",
    "vztmpl": r"\.tar\.(gz|xz|zst)",
    "import": r"\.(ova|ovf|qcow2|raw|vmdk)",
    "snippets": r"\.\w+",
}
ALGORITHMS = "md5|sha1|sha224|sha256|sha384|sha512"
UNPACK: dict[str, Callable[[bytes], bytes]] = {
    "gz": gzip.decompress,
    "bz2": bz2.decompress,
    "zst": zstd.decompress,
}
TEMPLATES = perm("/storage/{storage}", "Datastore.AllocateTemplate")


def _session(call: Call) -> ClientSession:
    from aiohttp import ClientSession, TCPConnector

    verify = call.get("verify-certificates", 1)
    trust: ssl.SSLContext | bool = (call.pve.trust or True) if verify else False
    return ClientSession(connector=TCPConnector(ssl=trust), auto_decompress=False)


@route(
    "GET",
    "/nodes/{node}/query-url-metadata",
    "url!:str verify-certificates:bool",
    NETWORK_ACCESS,
)
async def query_url(call: Call) -> dict[str, Any]:
    from aiohttp import ClientError

    try:
        async with _session(call) as session, session.head(call.params["url"]) as response:
            _need_ok(response)
            return {
                "filename": _filename(response),
                "mimetype": response.headers.get("Content-Type", "").split(";")[0],
                "size": int(response.headers.get("Content-Length", 0)),
            }
    except ClientError as error:
        raise failed(f"invalid server response: '500 {_reason(error)}'") from error


def _need_ok(response: ClientResponse) -> None:
    if response.status != 200:  # noqa: PLR2004
        raise failed(f"invalid server response: '{response.status} {response.reason}'")


def _reason(error: Exception) -> str:
    return str(error).splitlines()[0] if str(error) else type(error).__name__


def _filename(response: ClientResponse) -> str:
    disposition = response.headers.get("Content-Disposition", "")
    match = re.search(r'filename="?([^";]+)', disposition)
    return match[1] if match else unquote(urlsplit(str(response.url)).path.rsplit("/", 1)[-1])


@route(
    "POST",
    "/nodes/{node}/storage/{storage}/download-url",
    "url!:str filename!:str content!=iso|vztmpl|import checksum:str "
    f"checksum-algorithm={ALGORITHMS} compression=gz|lzo|zst|bz2 verify-certificates:bool",
    both(TEMPLATES, NETWORK_ACCESS),
)
def download(call: Call) -> str:
    name, content = call.params["filename"], call.params["content"]
    _check_target(call, name, content)
    if ("checksum" in call.params) != ("checksum-algorithm" in call.params):
        raise invalid({"checksum": "missing property - 'checksum-algorithm' requires 'checksum'"})

    async def work(task: Task) -> None:
        await _fetch(call, task, name, content)

    return call.start("download", name, work)


def _check_target(call: Call, name: str, content: str) -> None:
    storage = call.params["storage"]
    found = call.pve.storages.on_node(storage, call.node)
    if found["type"] not in FILE_TYPES:
        kind = f"can't upload to storage type '{found['type']}'"
        raise failed(f"{kind}, not a file based storage!")
    if content not in str(found.get("content", "")).split(","):
        raise failed(f"storage '{storage}' is not configured for content-type '{content}'")
    if not re.fullmatch(r"[\w@=+.,:~-][^/\\]*", name) or not re.search(
        ENDINGS[content] + "$", name
    ):
        raise invalid({"filename": "wrong file extension"})


def _free_to_write(call: Call, name: str, content: str) -> str:
    volid = f"{call.params['storage']}:{content}/{name}"
    if call.pve.storages.find(volid, call.node):
        raise failed(f"refusing to override existing file '{name}'")
    return volid


async def _fetch(call: Call, task: Task, name: str, content: str) -> None:
    from aiohttp import ClientError

    if call.get("compression") and content != "iso":
        raise failed(f"decompression not supported for {content}")
    _free_to_write(call, name, content)
    task.log(f"downloading {call.params['url']} to {FOLDERS[content]}/{name}")
    await task.step("download")
    try:
        async with _session(call) as session, session.get(call.params["url"]) as response:
            if response.status != 200:  # noqa: PLR2004
                raise failed(f"download failed: 500 {response.status} {response.reason}")
            data = await response.read()
    except ClientError as error:
        raise failed(f"download failed: {_reason(error)}") from error
    await task.step("verify")
    _verify(call, task, data)
    if call.get("compression"):
        data = _unpack(call.params["compression"], data)
    _keep(call, name, content, data)
    task.log(f"download of '{call.params['url']}' to '{name}' finished")


def _verify(call: Call, task: Task, data: bytes) -> None:
    algorithm, wanted = call.get("checksum-algorithm"), call.get("checksum")
    if not algorithm:
        return
    got = hashlib.new(algorithm, data).hexdigest()
    if got != str(wanted).lower():
        raise failed(f"checksum mismatch: got '{got}' != expect '{wanted}'")
    task.log(f"OK, got correct file checksum {got}")


def _unpack(algorithm: str, data: bytes) -> bytes:
    unpack = UNPACK.get(algorithm)
    if unpack is None:
        raise failed(f"{algorithm}: decompression failed")
    try:
        return unpack(data)
    except (OSError, EOFError, ValueError) as error:
        raise failed(f"{algorithm}: decompression failed: {error}") from error


def _keep(call: Call, name: str, content: str, data: bytes) -> None:
    storages, storage = call.pve.storages, call.params["storage"]
    volid = _free_to_write(call, name, content)
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


@route(
    "POST",
    "/nodes/{node}/storage/{storage}/upload",
    f"content!=iso|vztmpl|import|snippets filename:str checksum:str "
    f"checksum-algorithm={ALGORITHMS} tmpfilename:str",
    TEMPLATES,
)
def upload(call: Call) -> str:
    if call.upload is None:
        raise invalid({"filename": "property is missing and it is not optional"})
    sent, content = call.upload, call.params["content"]
    _check_target(call, sent.filename, content)

    async def work(task: Task) -> None:
        await task.step("upload", f"starting file import of '{sent.filename}'")
        _verify(call, task, sent.content)
        volid = f"{call.params['storage']}:{content}/{sent.filename}"
        old = call.pve.storages.find(volid, call.node)
        if old:  # unlike a download, an upload replaces
            call.pve.storages.remove(old)
        _keep(call, sent.filename, content, sent.content)

    return call.start("imgcopy", "", work)

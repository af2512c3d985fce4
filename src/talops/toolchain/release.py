"""Official releases: downloaded, resumed, and used only if the pinned SHA-256 matches."""

from __future__ import annotations

import hashlib
import io
import platform
import tarfile
import zipfile
from typing import TYPE_CHECKING

from talops.errors import ToolError, UnreachableError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import httpx

    from talops.toolchain.catalog import Tool

# Short, so that without a network the next source is tried within seconds.
CONNECT_SECONDS = 4
READ_SECONDS = 15
# More than any release of a tool; it is kept in memory while it is unpacked.
LARGEST = 1 << 30
MACHINES = {"x86_64": "amd64", "amd64": "amd64", "aarch64": "arm64", "arm64": "arm64"}
PARTIAL = 206
OK = 200
RANGE_REFUSED = 416


def current_platform() -> str:
    """`linux-amd64`, the format of release files."""
    machine = platform.machine().lower()
    return f"{platform.system().lower()}-{MACHINES.get(machine, machine)}"


def available(tool: Tool, where: str) -> bool:
    return tool.release is not None and where in tool.release.sha256


async def download(
    tool: Tool, where: str, keep: Path, progress: Callable[[int, int], None]
) -> bytes:
    """The verified file. An interrupted download continues from the bytes in `keep`."""
    assert tool.release
    url = _fill(tool.release.url, tool, where)
    partial = _partial(keep, f"{url.rsplit('/', 1)[1]}-{tool.version}")
    await _fetch(url, partial, progress)
    content = partial.read_bytes()
    partial.unlink()
    digest = hashlib.sha256(content).hexdigest()
    if digest != tool.release.sha256[where]:
        raise ToolError(
            f"the download is not the pinned file: SHA-256 {digest}",
            where=url,
            hint="run the same command again; if the error persists, do not trust this network",
        )
    return content


def _partial(keep: Path, name: str) -> Path:
    keep.mkdir(parents=True, exist_ok=True)
    return keep / f"{name}.part"


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


async def _fetch(url: str, partial: Path, progress: Callable[[int, int], None]) -> None:
    import httpx

    limits = httpx.Timeout(READ_SECONDS, connect=CONNECT_SECONDS)
    have = _size(partial)
    headers = {"Range": f"bytes={have}-"} if have else {}
    try:
        async with (
            httpx.AsyncClient(timeout=limits, follow_redirects=True) as client,
            client.stream("GET", url, headers=headers) as answer,
        ):
            await _save(answer, partial, have, progress)
    except httpx.HTTPError as error:
        raise UnreachableError(
            f"no response: {error or type(error).__name__}", where=url
        ) from error


async def _save(
    answer: httpx.Response, partial: Path, have: int, progress: Callable[[int, int], None]
) -> None:
    if answer.status_code == RANGE_REFUSED:  # already complete
        return
    if answer.status_code not in {OK, PARTIAL}:
        raise ToolError(f"the server returned {answer.status_code}", where=str(answer.url))
    done = have if answer.status_code == PARTIAL else 0
    total = done + int(answer.headers.get("content-length", 0))
    with partial.open("ab" if done else "wb") as file:
        async for chunk in answer.aiter_raw():
            file.write(chunk)
            done += len(chunk)
            if done > LARGEST:
                what = f"the file is larger than {LARGEST >> 20} MiB"
                raise ToolError(what, where=str(answer.url))
            progress(done, total)


def unpack(tool: Tool, where: str, content: bytes, into: Path) -> None:
    """Extract only the tool's programs from the archive."""
    assert tool.release
    url = _fill(tool.release.url, tool, where)
    for program in tool.programs:
        data = content
        if tool.release.member is not None:
            folder = _fill(tool.release.member, tool, where)
            data = _member(url, content, f"{folder}/{program}".removeprefix("./"))
        path = into / program
        path.write_bytes(data)
        path.chmod(0o755)


def _member(url: str, content: bytes, name: str) -> bytes:
    try:
        if url.endswith(".zip"):
            with zipfile.ZipFile(io.BytesIO(content)) as archive:
                return archive.read(name)
        with tarfile.open(fileobj=io.BytesIO(content)) as archive:
            member = archive.extractfile(name)
            assert member, name
            return member.read()
    except (KeyError, zipfile.BadZipFile, tarfile.TarError) as error:
        raise ToolError(f"the archive does not contain {name}", where=url) from error


def _fill(template: str, tool: Tool, where: str) -> str:
    system, arch = where.split("-", maxsplit=1)
    return template.format(version=tool.version, os=system, arch=arch)

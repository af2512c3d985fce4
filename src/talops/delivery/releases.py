"""Charts and manifests: downloaded once, cached by checksum, used only if the checksum matches."""

from __future__ import annotations

import hashlib
import ssl
from typing import TYPE_CHECKING

import httpx

from talops.answersize import limits
from talops.errors import TalopsError, UnreachableError
from talops.files import PRIVATE, write_atomic

if TYPE_CHECKING:
    from pathlib import Path

    from talops.gitops.catalog import Source

KEPT = ".talops/releases"
_SECONDS = httpx.Timeout(30.0, connect=5.0)
LARGEST = 64 * 1024 * 1024


async def fetch(source: Source, root: Path) -> bytes:
    """The file with exactly the pinned content; downloaded only the first time."""
    kept = root / KEPT / source.sha256
    if kept.exists() and digest(content := kept.read_bytes()) == source.sha256:
        return content
    content = await download(source, root)
    found = digest(content)
    if found != source.sha256:
        raise TalopsError(
            f"{source.title} is not the pinned file: SHA-256 {found}, expected {source.sha256}",
            where=source.url,
            hint="run the command again; if the error persists, do not trust this mirror",
        )
    write_atomic(kept, content, mode=PRIVATE)
    return content


def digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


async def download(source: Source, root: Path) -> bytes:
    """The file as the server sends it, without a check."""
    verify: ssl.SSLContext | bool = _trusting(root, source.ca_file) if source.ca_file else True
    try:
        async with httpx.AsyncClient(
            timeout=_SECONDS, follow_redirects=True, verify=verify, event_hooks=limits(LARGEST)
        ) as http:
            answer = await http.get(source.url)
    except httpx.HTTPError as error:
        raise UnreachableError(
            f"cannot download {source.title}: {error or type(error).__name__}",
            where=source.url,
            hint="check the network, or set a mirror under releases in cluster.yaml",
        ) from error
    if answer.is_success and len(answer.content) <= LARGEST:
        return answer.content
    kind = "chart" if source.is_chart else "manifest"
    raise TalopsError(
        f"the {kind} of {source.title} does not exist: HTTP {answer.status_code}",
        where=source.url,
        hint=f"check releases.{source.name} in cluster.yaml",
    )


def _trusting(root: Path, ca_file: str) -> ssl.SSLContext:
    try:
        return ssl.create_default_context(cafile=str(root / ca_file))
    except (OSError, ssl.SSLError) as error:
        raise TalopsError(
            f"the CA of the mirror cannot be read: {error}", where=str(root / ca_file)
        ) from error

"""The support bundle: what helps to analyze a failure, and a proof that it contains no secret."""

from __future__ import annotations

import asyncio
import base64
import gzip
import hashlib
import io
import json
import platform
import re
import tarfile
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from talops.errors import TalopsError
from talops.inventory.excerpt import excerpt, patch_files, secrets_in
from talops.plural import count
from talops.redaction import MASK, Redactor, Secret
from talops.secrets.scan import PATTERNS, scan

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from talops.pipeline.history import PastRun

INVENTORY = ("cluster.yaml", "nodes.yaml")
GENERATED = ("infrastructure/**/*.tf", "Taskfile.yaml", "justfile")
# A shorter value would match everywhere; all secrets of talops are longer.
SHORTEST = 8
LARGEST = 20 * 2**20
MANIFEST = "MANIFEST.json"
_KEY_BLOCK = re.compile(r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----[\s\S]*?(?:-----END [^-]*-----|\Z)")


class LeakError(TalopsError):
    """The bundle would contain a known secret, or text that looks like one."""


async def bundle(
    root: Path,
    runs: Sequence[PastRun],
    known: Mapping[str, Secret],
    environment: Mapping[str, str],
    facts: Mapping[str, object],
) -> tuple[bytes, int]:
    """The packed files and their number, proven to contain none of the `known` secrets."""
    files = cleaned(collect(root, runs), known)
    packed = pack(files, {**await versions(environment), **facts})
    return packed, prove(packed, known)


def collect(root: Path, runs: Sequence[PastRun]) -> dict[str, str]:
    """Name → text. Never keys, configs, states, patches or encrypted files."""
    found: dict[str, str] = {}
    for name in INVENTORY:
        if (text := _text(root / name)) is not None:
            found[f"inventory/{name}"] = excerpt(name, text).text
    for pattern in GENERATED:
        for path in sorted(root.glob(pattern)):
            if ".terraform" not in path.parts and (text := _text(path)) is not None:
                found[f"generated/{path.relative_to(root)}"] = text
    if (text := _text(root / ".talops" / "checkpoint.json")) is not None:
        found["checkpoint.json"] = text
    for run in runs:
        for path in sorted(p for p in run.path.rglob("*") if p.is_file()):
            if (text := _text(path)) is not None:
                found[f"runs/{run.info.id}/{path.relative_to(run.path)}"] = text
    return found


def inventory_secrets(root: Path) -> dict[str, Secret]:
    """Values of secret-looking keys in the inventory and its patch files."""
    texts = {name: text for name in INVENTORY if (text := _text(root / name)) is not None}
    for name in {name for text in texts.values() for name in patch_files(text)}:
        inside = (root / name).resolve().is_relative_to(root.resolve())
        if inside and (text := _text(root / name)) is not None:
            texts[name] = text
    found: dict[str, Secret] = {}
    for name, text in texts.items():
        found |= secrets_in(name, text)
    return {name: secret for name, secret in found.items() if forms(secret)}


def _text(path: Path) -> str | None:
    """None if the file does not exist, is not text, or is too large to be useful."""
    try:
        if path.is_symlink() or path.stat().st_size > LARGEST:
            return None
        return path.read_text(encoding="utf-8")
    except (FileNotFoundError, UnicodeDecodeError):
        return None
    except OSError as error:
        raise TalopsError(f"cannot be read: {error.strerror}", where=str(path)) from error


def forms(secret: Secret) -> frozenset[str]:
    """Every encoding in which a value may appear."""
    value = secret.reveal().strip()
    found = {value, quote(value, safe=""), json.dumps(value)[1:-1]}
    found.add(json.dumps(value, ensure_ascii=False)[1:-1])
    found.add(base64.b64encode(value.encode()).decode())
    inner = _decoded(value)
    # The body of a PEM block, line by line: a log may contain a part of it.
    found |= {line for line in (inner or value).splitlines() if not line.startswith("-----")}
    if "!" in value and "=" in value:  # user@realm!name=secret of a Proxmox token
        found.add(value.rpartition("=")[2])
    return frozenset(form for form in found if len(form) >= SHORTEST)


def _decoded(value: str) -> str | None:
    try:
        return base64.b64decode(value, validate=True).decode()
    except ValueError:  # not base64, or not base64 of a text
        return None


def cleaned(files: Mapping[str, str], known: Mapping[str, Secret]) -> dict[str, str]:
    redact = Redactor(Secret(form) for secret in known.values() for form in forms(secret))
    return {name: redact(_KEY_BLOCK.sub(MASK, text)) for name, text in files.items()}


def pack(files: Mapping[str, str], facts: Mapping[str, object]) -> bytes:
    """The same files give the same bytes: times and owners are left out."""
    listed = {name: hashlib.sha256(text.encode()).hexdigest() for name, text in files.items()}
    manifest = json.dumps({"version": 1, **facts, "files": listed}, indent=2) + "\n"
    out = io.BytesIO()
    with (
        gzip.GzipFile(fileobj=out, mode="wb", mtime=0) as squeezed,
        tarfile.open(fileobj=squeezed, mode="w", format=tarfile.PAX_FORMAT) as archive,
    ):
        for name, text in {**files, MANIFEST: manifest}.items():
            data = text.encode()
            member = tarfile.TarInfo(f"talops-support/{name}")
            member.size, member.mode = len(data), 0o600
            archive.addfile(member, io.BytesIO(data))
    return out.getvalue()


def prove(bundle: bytes, known: Mapping[str, Secret]) -> int:
    """Read the finished bundle and search it for every secret; returns the number of files."""
    leaks: list[str] = []
    files = 0
    for name, text in _unpacked(bundle):
        files += 1
        leaks += [f"{name}: {what}" for what in _leaks(name, text, known)]
    if leaks:
        raise LeakError(
            f"the bundle was not written, because it would contain {count(len(leaks), 'secret')}:"
            + "\n  ".join(leaks[:20]),
            hint=(
                "remove the files listed above, or report a bug: talops should have masked "
                "these values"
            ),
        )
    return files


def _unpacked(bundle: bytes) -> Iterator[tuple[str, str]]:
    with tarfile.open(fileobj=io.BytesIO(bundle), mode="r:gz") as archive:
        for member in archive:
            file = archive.extractfile(member)
            assert file
            yield member.name, file.read().decode()


def _leaks(name: str, text: str, known: Mapping[str, Secret]) -> list[str]:
    """Never the value itself: only its name."""
    found = [
        f"the value of {title}"
        for title, secret in known.items()
        if any(form in text or form in name for form in forms(secret))
    ]
    found += [what for what, pattern in PATTERNS.items() if pattern.search(text)]
    found += [f"{problem.where}: {problem.what}" for problem in scan(name, text, {})]
    return found


async def versions(environment: Mapping[str, str]) -> dict[str, Any]:
    from talops import __version__
    from talops.toolchain.engine import find_engine
    from talops.toolchain.install import Toolchain

    toolchain = Toolchain(environment)
    found = await asyncio.gather(find_engine(toolchain), toolchain.find("sops"))
    return {
        "talops": __version__,
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "tools": {tool.name: tool.version for tool in found if tool},
    }

"""The source of the provider for OpenTofu; no other module decides it.

In the lab and in tests: TALOPS_PROVIDER_MIRROR, then the cache, the registry, a build from its Go
module. Outside the lab the registry comes before the cache, and OpenTofu downloads from it
directly, so that a shared lock file has the hashes for all platforms.
"""

from __future__ import annotations

import asyncio
import hashlib
import re
import shutil
import ssl
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from talops.environment import for_engine
from talops.errors import ToolError, UnreachableError
from talops.files import write_atomic
from talops.toolchain import mirror, process
from talops.toolchain.catalog import PROVIDER, catalog
from talops.toolchain.engine import ensure_engine
from talops.toolchain.locate import FoundTool
from talops.toolchain.release import CONNECT_SECONDS, OK, READ_SECONDS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from talops.toolchain.catalog import Tool
    from talops.toolchain.install import Toolchain

MIRROR, SETTINGS = "TALOPS_PROVIDER_MIRROR", "TF_CLI_CONFIG_FILE"
LOCK_FILE = ".terraform.lock.hcl"
DOWNLOAD_SECONDS = 300
_LOCKED = r'^provider "{}" \{{\n\s*version\s*=\s*"([^"]+)"(.*?)^\}}'
_REQUIREMENT = """\
terraform {{
  required_providers {{
    proxmox = {{
      source  = "{namespace}"
      version = "{version}"
    }}
  }}
}}
"""


def given(tool: Tool, environment: Mapping[str, str], cache: Path) -> FoundTool | None:
    """The mirror in TALOPS_PROVIDER_MIRROR; one for either registry host works for both."""
    named = environment.get(MIRROR)
    if not named:
        return None
    directory = Path(named).absolute()
    found = mirror.package(directory, tool.version)
    if found is None:
        path = f"{mirror.OPENTOFU}/{mirror.NAMESPACE}/{mirror.packed_name(tool.version)}"
        raise ToolError(
            f"no {mirror.NAMESPACE} {tool.version} for {mirror.system()} in this provider mirror",
            where=named,
            hint=f"put {path} there, or unset {MIRROR}",
        )
    if not mirror.holds(directory, tool.version):
        directory = _view(found, cache, tool.version)
    return FoundTool(tool.name, tool.version, directory, "given")


def _view(found: Path, cache: Path, version: str) -> Path:
    """Named after its content, so that every process uses the same one and it never changes."""
    name = hashlib.sha256(f"{found.resolve()} {version}".encode()).hexdigest()[:16]
    final = cache / "mirrors" / name
    if not final.exists():
        final.parent.mkdir(parents=True, exist_ok=True)
        staging = Path(tempfile.mkdtemp(dir=final.parent, prefix=".partial-"))
        mirror.view(found, staging, version)
        try:
            staging.rename(final)
        except OSError:  # another process was quicker
            shutil.rmtree(staging)
    return final


async def registry_answers(host: str) -> bool:
    """Fails fast without a network, so that the next source is tried within seconds."""
    import httpx

    from talops.answersize import limits

    waits = httpx.Timeout(READ_SECONDS, connect=CONNECT_SECONDS)
    trust = ssl.create_default_context()  # the CAs that OpenTofu trusts, including SSL_CERT_FILE
    try:
        async with httpx.AsyncClient(
            timeout=waits, verify=trust, follow_redirects=True, event_hooks=limits()
        ) as client:
            answer = await client.get(f"https://{host}/.well-known/terraform.json")
    except (httpx.HTTPError, OSError):
        return False
    return answer.status_code == OK


async def download(chain: Toolchain, tool: Tool, into: Path) -> None:
    """Download with OpenTofu, which verifies the signature."""
    if not await registry_answers(mirror.OPENTOFU):
        raise UnreachableError("the registry does not answer", where=mirror.OPENTOFU)
    engine = await ensure_engine(chain)
    with tempfile.TemporaryDirectory(prefix="talops-provider-") as scratch:
        work = Path(scratch)
        text = _REQUIREMENT.format(namespace=mirror.NAMESPACE, version=tool.version)
        write_atomic(work / "main.tf", text)
        write_atomic(work / "cli.tfrc", "provider_installation {\n  direct {}\n}\n")
        command = [
            str(engine.path),
            "providers",
            "mirror",
            f"-platform={mirror.system()}",
            str(into),
        ]
        try:
            async with asyncio.timeout(DOWNLOAD_SECONDS):
                environment = {**for_engine(chain.environment), SETTINGS: str(work / "cli.tfrc")}
                await process.run(command, env=environment, cwd=work)
        except TimeoutError as error:
            raise UnreachableError("the download timed out", where=mirror.OPENTOFU) from error
    if mirror.package(into, tool.version) is None:
        raise ToolError(f"{engine.name} did not write the provider to the mirror", where=str(into))
    mirror.serve_both(into, tool.version)


async def settings(chain: Toolchain, layer: Path, program: Path, folder: Path) -> Path | None:
    """The CLI configuration for `init` of a layer; None if it is not necessary."""
    if not _requires(layer) or chain.environment.get(SETTINGS):
        return None
    host = mirror.TERRAFORM if "terraform" in program.name else mirror.OPENTOFU
    if not chain.environment.get(MIRROR) and (
        _installed(layer, host)
        or _users_own(chain.environment, host)
        or await registry_answers(host)
    ):
        return None
    found = await chain.ensure(PROVIDER)
    _refuse_other_hash(layer, found, host)
    file = folder / "provider.tfrc"
    write_atomic(file, mirror.settings_text(found.path))
    return file


def outdated(layer: Path, version: str) -> bool:
    """Whether the lock file has another version than the layer requires: `init -upgrade`."""
    return any(known and known[0] != version for known in (_locked(layer, h) for h in mirror.HOSTS))


def lost(layer: Path) -> bool:
    """Whether `init` linked a provider from a mirror or cache that does not exist any more."""
    links = layer.glob(".terraform/providers/*/*/*/*/*")
    return any(link.is_symlink() and not link.exists() for link in links)


def _locked(layer: Path, host: str) -> tuple[str, str] | None:
    """Version and hashes of the provider from this registry in the lock file."""
    pattern = _LOCKED.format(re.escape(f"{host}/{mirror.NAMESPACE}"))
    found = re.search(pattern, _text(layer / LOCK_FILE), re.DOTALL | re.MULTILINE)
    return (found[1], found[2]) if found else None


def _requires(layer: Path) -> bool:
    return any(mirror.NAMESPACE in _text(file) for file in layer.glob("*.tf"))


def _installed(layer: Path, host: str) -> bool:
    """Whether `init` uses no registry."""
    locked = _locked(layer, host)
    folder = layer / ".terraform/providers" / host / mirror.NAMESPACE
    wanted = catalog()[PROVIDER].version
    return bool(locked and locked[0] == wanted and (folder / wanted / mirror.system()).is_dir())


def _users_own(environment: Mapping[str, str], host: str) -> bool:
    """A mirror in the user's own settings or plugin directory has priority."""
    home = Path(environment.get("HOME") or Path.home())
    files = (home / ".tofurc", home / ".terraformrc", home / ".config/opentofu/tofurc")
    implied = home / ".terraform.d/plugins" / host / mirror.NAMESPACE
    return implied.is_dir() or any("provider_installation" in _text(file) for file in files)


def _refuse_other_hash(layer: Path, found: FoundTool, host: str) -> None:
    """A lock file from the registry does not contain the hash of a local build."""
    locked = _locked(layer, host)
    package = mirror.package(found.path, found.version, [host])
    assert package
    if locked is None or locked[0] != found.version or "hashes" not in locked[1]:
        return
    if any(f'"{known}"' in locked[1] for known in mirror.hashes(package)):
        return
    lock = layer / LOCK_FILE
    raise ToolError(
        f"this lock file does not know the {mirror.NAMESPACE} {found.version} in use ({package})",
        where=str(lock),
        hint=f"run again where {host} answers, point {MIRROR} at a mirror with its package, "
        f"or create the lock file again: rm {lock}",
    )


def _text(file: Path) -> str:
    try:
        return file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return ""

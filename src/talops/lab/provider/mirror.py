"""Where OpenTofu gets its provider from: the real one if it can be had, else the stand-in.

A filesystem mirror, so that `init`, the lock file and its hashes are the real thing. The stand-in's
package is a launcher with fixed timestamps: the same talops always has the same hash.
"""

from __future__ import annotations

import asyncio
import platform
import shlex
import shutil
import sys
import tempfile
import zipfile
from dataclasses import dataclass
from pathlib import Path

from talops.errors import TalopsError
from talops.files import write_atomic

HOSTS = ("registry.opentofu.org", "registry.terraform.io")
NAMESPACE = "bpg/proxmox"
_DOWNLOAD_LIMIT = 120.0
_EPOCH = (1980, 1, 1, 0, 0, 0)
_EXECUTABLE = 0o100755 << 16
_MACHINES = {"x86_64": "amd64", "aarch64": "arm64"}


@dataclass(frozen=True)
class Mirror:
    """`origin` says in words where it comes from."""

    directory: Path
    real: bool
    origin: str


def build(directory: Path, version: str) -> Path:
    """A mirror that holds the stand-in as that version, for both registries."""
    package = _package(version)
    for host in HOSTS:
        target = directory / host / NAMESPACE / _file_name(version)
        if not target.exists() or target.read_bytes() != package:
            write_atomic(target, package)
    return directory


def cli_config(directory: Path) -> str:
    """The text of a CLI configuration file: this mirror, and no registry behind it."""
    included = ", ".join(f'"{host}/{NAMESPACE}"' for host in HOSTS)
    return (
        "provider_installation {\n"
        "  filesystem_mirror {\n"
        f'    path    = "{directory}"\n'
        f"    include = [{included}]\n"
        "  }\n"
        "}\n"
    )


async def choose(
    cache: Path, version: str, *, given: Path | None = None, tofu: Path | None = None
) -> Mirror:
    """`given` is TALOPS_PROVIDER_MIRROR; `tofu` is what the real provider is downloaded with."""
    if given is not None:
        return Mirror(_given(given, cache, version), real=True, origin=str(given))
    downloaded = cache / "real"
    if holds(downloaded, version) or (tofu and await _download(tofu, downloaded, version)):
        return Mirror(downloaded, real=True, origin="downloaded")
    stand_in = build(cache / "stand-in", version)
    return Mirror(stand_in, real=False, origin="talops lab stand-in")


def holds(directory: Path, version: str) -> bool:
    return all(_find(directory, host, version) is not None for host in HOSTS)


def _given(given: Path, cache: Path, version: str) -> Path:
    """A mirror made for one registry serves for the other too: the packages are the same."""
    if holds(given, version):
        return given
    found = next((p for host in HOSTS if (p := _find(given, host, version))), None)
    if found is None:
        raise TalopsError(
            f"no {NAMESPACE} {version} for {_platform()} in this provider mirror",
            where=str(given),
            hint=f"put {HOSTS[0]}/{NAMESPACE}/{_file_name(version)} there, or unset "
            "TALOPS_PROVIDER_MIRROR",
        )
    view = cache / "given"
    _link(found, view, version)
    return view


def _link(package: Path, view: Path, version: str) -> None:
    for host in HOSTS:
        name = Path(_file_name(version)) if package.is_file() else Path(version, _platform())
        link = view / host / NAMESPACE / name
        link.parent.mkdir(parents=True, exist_ok=True)
        if link.is_symlink():
            link.unlink()
        link.symlink_to(package.resolve())


def _find(directory: Path, host: str, version: str) -> Path | None:
    base = directory / host / NAMESPACE
    packed, unpacked = base / _file_name(version), base / version / _platform()
    return next((path for path in (packed, unpacked) if path.exists()), None)


async def _download(tofu: Path, directory: Path, version: str) -> bool:
    """False when the registry cannot be reached: the lab then goes on with the stand-in."""
    with tempfile.TemporaryDirectory(prefix="talops-provider-") as scratch:
        work = Path(scratch)
        main = _REQUIREMENT.format(namespace=NAMESPACE, version=version)
        write_atomic(work / "main.tf", main)
        write_atomic(work / "cli.tfrc", "provider_installation {\n  direct {}\n}\n")
        return await _mirror_with(tofu, work) and _keep(work, directory, version)


def _keep(work: Path, directory: Path, version: str) -> bool:
    package = next(work.rglob(_file_name(version)), None)
    if package is None:
        return False
    for host in HOSTS:
        target = directory / host / NAMESPACE / package.name
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(package, target)
    return True


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


async def _mirror_with(tofu: Path, work: Path) -> bool:
    process = await asyncio.create_subprocess_exec(
        "env",  # keeps the environment (proxies!) and says which configuration counts
        f"TF_CLI_CONFIG_FILE={work / 'cli.tfrc'}",
        tofu,
        "providers",
        "mirror",
        f"-platform={_platform()}",
        work / "mirror",
        cwd=work,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        return await asyncio.wait_for(process.wait(), _DOWNLOAD_LIMIT) == 0
    except TimeoutError:
        return False
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


def _package(version: str) -> bytes:
    launcher = (
        "#!/bin/sh\n"
        "# talops lab stand-in for bpg/proxmox: works with the lab's Proxmox only.\n"
        f'exec {shlex.quote(sys.executable)} -P -m talops.lab.provider "$@"\n'
    )
    entry = zipfile.ZipInfo(f"terraform-provider-proxmox_v{version}", date_time=_EPOCH)
    entry.external_attr = _EXECUTABLE
    entry.create_system = 3
    with tempfile.SpooledTemporaryFile() as file:
        with zipfile.ZipFile(file, "w") as archive:
            archive.writestr(entry, launcher)
        file.seek(0)
        return file.read()


def _file_name(version: str) -> str:
    return f"terraform-provider-proxmox_{version}_{_platform()}.zip"


def _platform() -> str:
    machine = platform.machine()
    return f"linux_{_MACHINES.get(machine, machine)}"

"""A filesystem mirror with the provider, and the settings that make `init` use it.

A local build is stored unpacked, so that `init` links it instead of copying; its hash (`h1`) is
computed from its files, so the same program always has the same hash.
"""

from __future__ import annotations

import base64
import hashlib
import os
import shutil
import zipfile
from typing import TYPE_CHECKING

from talops.toolchain.release import current_platform

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

OPENTOFU, TERRAFORM = "registry.opentofu.org", "registry.terraform.io"
HOSTS = (OPENTOFU, TERRAFORM)
NAMESPACE = "bpg/proxmox"
SOURCES = tuple(f"{host}/{NAMESPACE}" for host in HOSTS)
PROGRAM = "terraform-provider-proxmox"


def system() -> str:
    """`linux_amd64`, the format of mirrors and registries."""
    return current_platform().replace("-", "_")


def packed_name(version: str) -> str:
    return f"{PROGRAM}_{version}_{system()}.zip"


def package(directory: Path, version: str, hosts: Iterable[str] = HOSTS) -> Path | None:
    """The provider for this machine, packed or unpacked, from the first host that has it."""
    for host in hosts:
        base = directory / host / NAMESPACE
        for path in (base / packed_name(version), base / version / system()):
            if path.exists():
                return path
    return None


def holds(directory: Path, version: str) -> bool:
    """Whether the mirror works for both OpenTofu and Terraform."""
    return all(package(directory, version, [host]) for host in HOSTS)


def lay(program: Path, directory: Path, version: str) -> None:
    """Create a mirror with one built program."""
    folder = directory / OPENTOFU / NAMESPACE / version / system()
    folder.mkdir(parents=True)
    shutil.move(program, folder / f"{PROGRAM}_v{version}")
    serve_both(directory, version)


def serve_both(directory: Path, version: str) -> None:
    """Link the package for the registry host that lacks it; the packages are identical."""
    for host in HOSTS:
        if not package(directory, version, [host]):
            found = package(directory, version)
            assert found
            _link(found, directory / host, version, within=directory)


def view(found: Path, directory: Path, version: str) -> None:
    """Create a mirror for both registry hosts from a package in another directory."""
    for host in HOSTS:
        _link(found.resolve(), directory / host, version)


def _link(found: Path, host: Path, version: str, *, within: Path | None = None) -> None:
    unpacked = found.is_dir()
    link = host / NAMESPACE / (f"{version}/{system()}" if unpacked else packed_name(version))
    link.parent.mkdir(parents=True, exist_ok=True)
    target = os.path.relpath(found, link.parent) if within else str(found)
    link.symlink_to(target)


def hashes(found: Path) -> set[str]:
    """The hashes of a package in a lock file: `h1` of its files, `zh` of its archive."""
    if found.is_dir():
        files = {str(p.relative_to(found)): p.read_bytes() for p in found.rglob("*") if p.is_file()}
        return {_h1(files)}
    with zipfile.ZipFile(found) as archive:
        packed = {i.filename: archive.read(i) for i in archive.infolist() if not i.is_dir()}
    return {_h1(packed), f"zh:{hashlib.sha256(found.read_bytes()).hexdigest()}"}


def _h1(files: dict[str, bytes]) -> str:
    lines = "".join(
        f"{hashlib.sha256(files[name]).hexdigest()}  {name}\n" for name in sorted(files)
    )
    return "h1:" + base64.b64encode(hashlib.sha256(lines.encode()).digest()).decode()


def settings_text(directory: Path, *, only: bool = False) -> str:
    """A CLI configuration: this mirror for the provider, the registries for all others. With
    `only` there is no registry.
    """
    named = ", ".join(f'"{source}"' for source in SOURCES)
    direct = "" if only else f"  direct {{\n    exclude = [{named}]\n  }}\n"
    return (
        "provider_installation {\n"
        "  filesystem_mirror {\n"
        f'    path    = "{directory}"\n'
        f"    include = [{named}]\n"
        "  }\n"
        f"{direct}}}\n"
    )

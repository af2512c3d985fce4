"""The engine that runs the layers: OpenTofu, or a Terraform on PATH."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from talops.errors import ToolError
from talops.toolchain import locate, version
from talops.toolchain.locate import FoundTool
from talops.toolchain.version import Range

if TYPE_CHECKING:
    from collections.abc import Mapping

    from talops.toolchain.install import Toolchain

# Versions before 1.11 lack write-only attributes and S3 lock files.
TERRAFORM = Range("1.11", "2")
OPENTOFU = Range("1.10", "2")


async def find_terraform(environment: Mapping[str, str]) -> FoundTool | None:
    """Terraform is used if it is installed; talops never downloads it."""
    path = shutil.which("terraform", path=environment.get("PATH", ""))
    if not path:
        return None
    number = await locate.ask(Path(path), ("version",), environment)
    if number is None or number not in TERRAFORM:
        return None
    return FoundTool("terraform", version.show(number), Path(path), "path")


async def find_engine(toolchain: Toolchain, *, encrypted: bool = False) -> FoundTool | None:
    """OpenTofu on PATH or in the cache, otherwise a usable Terraform; nothing is downloaded.
    `encrypted`: states are encrypted, which Terraform does not support.
    """
    tofu = await toolchain.find("tofu")
    if tofu or encrypted:
        return tofu
    return await find_terraform(toolchain.environment)


async def ensure_engine(
    toolchain: Toolchain, wanted: str | None = None, *, encrypted: bool = False
) -> FoundTool:
    """The engine, installed if necessary. `wanted` is `tofu`, `terraform`, or the path of one."""
    if wanted is None:
        return await find_engine(toolchain, encrypted=encrypted) or await toolchain.ensure("tofu")
    found = await _named(toolchain, wanted)
    if encrypted and found.name == "terraform":
        raise ToolError(
            "state_encryption_passphrase is set, but Terraform cannot encrypt states",
            where=str(found.path),
            hint="use tofu (talops installs it), or remove the passphrase: talops secrets edit",
        )
    return found


async def _named(toolchain: Toolchain, wanted: str) -> FoundTool:
    if wanted == "tofu":
        return await toolchain.ensure("tofu")
    if wanted == "terraform":
        found = await find_terraform(toolchain.environment)
        if found is None:
            raise ToolError(f"no terraform {TERRAFORM} on PATH", hint="talops tools install tofu")
        return found
    return await _at(Path(wanted), toolchain.environment)


async def _at(path: Path, environment: Mapping[str, str]) -> FoundTool:
    number = await locate.ask(path, ("version",), environment)
    name = "terraform" if "terraform" in path.name else "tofu"
    accepted = TERRAFORM if name == "terraform" else OPENTOFU
    if number is None or number not in accepted:
        told = version.show(number) if number else "no version"
        raise ToolError(f"{name} {accepted} is required, found {told}", where=str(path))
    return FoundTool(name, version.show(number), path, "path")

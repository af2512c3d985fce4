"""Which program runs the layers: OpenTofu, or a Terraform that is on PATH already."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from talops.errors import ToolError
from talops.toolchain import locate, version
from talops.toolchain.locate import Found
from talops.toolchain.version import Range

if TYPE_CHECKING:
    from collections.abc import Mapping

    from talops.toolchain.install import Toolchain

# Below 1.11 there are no write-only attributes and no S3 lock files.
TERRAFORM = Range("1.11", "2")
OPENTOFU = Range("1.10", "2")


async def find_terraform(environment: Mapping[str, str]) -> Found | None:
    """Terraform is taken where it is installed; talops never fetches it."""
    path = shutil.which("terraform", path=environment.get("PATH", ""))
    if not path:
        return None
    number = await locate.ask(Path(path), ("version",), environment)
    if number is None or number not in TERRAFORM:
        return None
    return Found("terraform", version.show(number), Path(path), "path")


async def find_engine(toolchain: Toolchain, *, encrypted: bool = False) -> Found | None:
    """Tofu on PATH or in the cache, else a terraform that can do the same; nothing is fetched.

    `encrypted`: states are, and Terraform cannot do that.
    """
    tofu = await toolchain.find("tofu")
    if tofu or encrypted:
        return tofu
    return await find_terraform(toolchain.environment)


async def ensure_engine(
    toolchain: Toolchain, wanted: str | None = None, *, encrypted: bool = False
) -> Found:
    """The engine. `wanted` names one: `tofu`, `terraform`, or the path of either."""
    if wanted is None:
        return await find_engine(toolchain, encrypted=encrypted) or await toolchain.ensure("tofu")
    found = await _named(toolchain, wanted)
    if encrypted and found.name == "terraform":
        raise ToolError(
            "state_encryption_passphrase is set, and Terraform cannot encrypt states",
            where=str(found.path),
            hint="use tofu (talops fetches it), or drop the passphrase: talops secrets edit",
        )
    return found


async def _named(toolchain: Toolchain, wanted: str) -> Found:
    if wanted == "tofu":
        return await toolchain.ensure("tofu")
    if wanted == "terraform":
        found = await find_terraform(toolchain.environment)
        if found is None:
            raise ToolError(f"no terraform {TERRAFORM} on PATH", hint="talops tools install tofu")
        return found
    return await _at(Path(wanted), toolchain.environment)


async def _at(path: Path, environment: Mapping[str, str]) -> Found:
    number = await locate.ask(path, ("version",), environment)
    name = "terraform" if "terraform" in path.name else "tofu"
    accepted = TERRAFORM if name == "terraform" else OPENTOFU
    if number is None or number not in accepted:
        told = version.show(number) if number else "no version"
        raise ToolError(f"{name} {accepted} is needed, this one says {told}", where=str(path))
    return Found(name, version.show(number), path, "path")

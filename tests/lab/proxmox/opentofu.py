"""Running the real provider under a real tofu against a lab."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.real_provider import settings_file

if TYPE_CHECKING:
    from tests.real_provider import Programs

    from talops.lab.world import World

MODULES = Path(__file__).parent / "modules"
PROVIDER = """
terraform {
  required_providers { proxmox = { source = "bpg/proxmox" } }
}
provider "proxmox" {}
"""


@dataclass(frozen=True)
class Tofu:
    """One module in its own directory, against one host of a lab."""

    binary: Path
    directory: Path
    environment: dict[str, str]

    async def run(self, *words: str, step: int = 1) -> tuple[int, str]:
        process = await asyncio.create_subprocess_exec(
            self.binary,
            *words,
            cwd=self.directory,
            env={**self.environment, "TF_VAR_step": str(step)},
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        output, _ = await process.communicate()
        return process.returncode or 0, output.decode()

    async def must(self, *words: str, step: int = 1) -> str:
        code, output = await self.run(*words, "-no-color", step=step)
        assert code == 0, output
        return output

    async def apply(self, *, step: int = 1) -> str:
        return await self.must("apply", "-auto-approve", step=step)

    async def destroy(self, *, step: int = 1) -> str:
        return await self.must("destroy", "-auto-approve", step=step)

    async def changes(self, *, step: int = 1) -> dict[str, str]:
        """What a plan would do, by resource; nothing to do is left out."""
        code, output = await self.run("plan", "-out=plan", "-no-color", step=step)
        if code:
            return {"error": output}
        shown = json.loads(await self.must("show", "-json", "plan"))
        actions = {c["address"]: c["change"]["actions"] for c in shown.get("resource_changes", [])}
        return {
            address: "+".join(action)
            for address, action in actions.items()
            if action not in (["no-op"], ["read"])
        }


async def prepare(world: World, module: str, directory: Path, programs: Programs) -> Tofu:
    """A copy of one of the modules, initialised."""
    shutil.copytree(MODULES / module, directory)
    return await initialised(world, directory, programs)


async def initialised(world: World, directory: Path, programs: Programs) -> Tofu:
    """Whatever configuration is in a directory, with the provider for a lab."""
    (directory / "provider.tf").write_text(PROVIDER)
    details: dict[str, Any] = world.endpoints()
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(directory),
        "TF_CLI_CONFIG_FILE": str(settings_file(programs.mirror, directory)),
        "TF_IN_AUTOMATION": "1",
        "CHECKPOINT_DISABLE": "1",
        "PROXMOX_VE_ENDPOINT": details["proxmox"]["hosts"][0]["endpoint"],
        "PROXMOX_VE_API_TOKEN": details["proxmox"]["api_token"],
        "SSL_CERT_FILE": details["ca_file"],
        "TF_VAR_factory": details["factory"]["url"],
    }
    tofu = Tofu(programs.engine, directory, environment)
    await tofu.must("init")
    return tofu

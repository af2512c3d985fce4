"""A lab in this process, and talops run against it as its users do."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import ssl
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from tests.prepared import Prepared, Preparer
from tests.real_provider import attached, borrowed, unpacked

from talops.lab.sample import LabInventory
from talops.lab.spec import LabSpec
from talops.lab.tools import LabTools
from talops.lab.world import World
from talops.redaction import Secret
from talops.secrets.age import load_keys
from talops.secrets.init import init
from talops.secrets.sops import Sops
from talops.secrets.vault import Vault
from talops.site.state.passphrase import KEY as PASSPHRASE

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Iterator


@dataclass
class Outcome:
    code: int
    out: str
    err: str

    @property
    def everything(self) -> str:
        return f"exit {self.code}\n{self.out}\n{self.err}"


@dataclass
class Lab:
    """One world, and a directory with an inventory for it."""

    world: World
    root: Path
    environment: dict[str, str] = field(default_factory=dict)
    sops: Path = field(default=Path("sops"), kw_only=True)
    preparer: Preparer | None = field(default=None, kw_only=True)
    # All that talops ever printed here.
    said: list[str] = field(default_factory=list)

    @property
    def temporary(self) -> Path:
        """TMPDIR of every talops that is started here."""
        return self.root.with_name("tmp")

    @property
    def details(self) -> dict[str, Any]:
        return self.world.endpoints()

    def for_provider(self) -> dict[str, str]:
        """What talops would give it."""
        return {
            "PROXMOX_VE_ENDPOINT": self.details["proxmox"]["hosts"][0]["endpoint"],
            "PROXMOX_VE_API_TOKEN": self.details["proxmox"]["api_token"],
            "SSL_CERT_FILE": self.details["ca_file"],
        }

    async def start(self, *words: str) -> asyncio.subprocess.Process | Prepared:
        """Talops in a process of its own; the lab goes on in this one."""
        environment = {**os.environ, **self.environment}
        if self.preparer:
            return await self.preparer.start(words, cwd=self.root, env=environment)
        return await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "talops",
            *words,
            cwd=self.root,
            env=environment,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            start_new_session=True,
        )

    async def talops(self, *words: str) -> Outcome:
        process = await self.start(*words)
        try:
            out, err = await process.communicate()
        except asyncio.CancelledError:
            kill_group(process)
            raise
        assert process.returncode is not None
        self.said += [out.decode(), err.decode()]
        return Outcome(process.returncode, out.decode(), err.decode())

    async def seal(self, *, encrypted_state: bool = True, **more: str) -> None:
        """Credentials as users keep them: encrypted, and in no environment but tofu's."""
        token, _, value = self.details["proxmox"]["api_token"].partition("=")
        more |= {"proxmox_api_token_id": token, "proxmox_api_token_secret": value}
        await self.init_secrets(encrypted_state=encrypted_state, **more)

    async def init_secrets(self, *, encrypted_state: bool = False, **more: str) -> None:
        """As `secrets init` does it, with these. Most of a short run of OpenTofu is stretching the
        passphrase of its state; without one, states are plain.
        """
        await init(Sops(self.sops, self.root), self.root / "age.key", hook=False)
        await self.keep(() if encrypted_state else (PASSPHRASE,), **more)

    async def keep(self, without: tuple[str, ...] = (), **more: str) -> None:
        """More of them."""
        vault = Vault.of(Sops(self.sops, self.root, load_keys(self.root / "age.key")))
        await vault.write({name: Secret(text) for name, text in more.items()}, remove=without)

    async def proxmox(self, method: str, path: str, **data: str) -> Any:
        """What a user does without talops."""
        trust = ssl.create_default_context(cafile=self.details["ca_file"])
        base = f"{self.details['proxmox']['hosts'][0]['endpoint']}api2/json/"
        headers = {"Authorization": f"PVEAPIToken={self.details['proxmox']['api_token']}"}
        async with httpx.AsyncClient(base_url=base, verify=trust, headers=headers) as client:
            answer = await client.request(method, path, data=data or None)
        answer.raise_for_status()
        return answer.json()["data"]

    def vms(self) -> dict[str, Any]:
        """What Proxmox itself holds, by VM name."""
        return {
            str(vm.config.get("name")): vm
            for pve in self.world.proxmox.hypervisors.values()
            for vm in pve.vms.values()
        }


def kill_group(process: asyncio.subprocess.Process | Prepared) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


@pytest.fixture(scope="session")
def preparer() -> Iterator[Preparer]:
    made = Preparer()
    yield made
    made.close()


@pytest.fixture
def make_lab(
    tool: Callable[[str], Path], tmp_path: Path, request: pytest.FixtureRequest
) -> Callable[..., contextlib.AbstractAsyncContextManager[Lab]]:
    """Makes labs that have an inventory, for `async with`."""

    @contextlib.asynccontextmanager
    async def make(
        *,
        spec: LabSpec | None = None,
        talos: bool = True,
        sealed: bool = False,
        gitops: bool = False,
        truenas: bool = False,
        as_users: bool = False,
        name: str = "e2e",
        **wanted: int,
    ) -> AsyncIterator[Lab]:
        """`as_users`: states are encrypted, and each OpenTofu starts its own provider, which takes
        most of its time; otherwise one provider serves this lab, and each talops is a fork.
        """

        async def find(name: str) -> Path:
            return tool(name)

        tools = LabTools(find if talos else None, borrowed(tool("provider")))
        async with World(tmp_path / "lab", spec or LabSpec(timing=0.0), tools) as world:
            root = tmp_path / "site"
            root.mkdir(exist_ok=True)
            lab = Lab(world, root, sops=tool("sops"))
            if not as_users:
                lab.preparer = request.getfixturevalue("preparer")
            lab.temporary.mkdir(exist_ok=True)
            sizes = {"control_planes": 1, "workers": 1, "gpu_workers": 0, "subnet": 16, **wanted}
            inventory = LabInventory(name=name, **sizes)
            for file, text in inventory.files(lab.details, gitops=gitops, truenas=truenas).items():
                (root / file).write_text(text, encoding="utf-8")
            lab.environment = {
                "TF_CLI_CONFIG_FILE": lab.details["provider"]["cli_config"],
                "NO_COLOR": "1",
                "TMPDIR": str(lab.temporary),
            }
            if sealed:
                key = {"truenas_api_key": lab.details["truenas"]["api_key"]} if truenas else {}
                await lab.seal(encrypted_state=as_users, **key)
            else:
                lab.environment["PROXMOX_VE_API_TOKEN"] = lab.details["proxmox"]["api_token"]
            if as_users:
                yield lab
                return
            program = unpacked(tool("provider"), tmp_path)
            async with attached(program, lab.for_provider()) as how:
                lab.environment["TF_REATTACH_PROVIDERS"] = how
                yield lab

    return make

"""Nodes without a hypervisor, and an inventory for them: what the Talos stages work on."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import shutil
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.lab.talos.harness import Lab, until

from talops.inventory.load import load
from talops.pipeline.runner import Options, run_stages
from talops.pipeline.stage import Reporter
from talops.site.enrolment.admission import NOTHING_SAID, Admission
from talops.site.secrets_file import SecretsFile, new_secrets
from talops.site.site import Limits, Site
from talops.stages.apply_config import ApplyConfig
from talops.stages.bootstrap import Bootstrap
from talops.stages.kubeconfig import FetchKubeconfig
from talops.stages.verify import Verify
from talops.stages.workers import Workers

if TYPE_CHECKING:
    from talops.events import Event
    from talops.lab.talos.machine.settings import Tools
    from talops.machineconfig.secrets.bundle import Bundle
    from talops.pipeline.result import RunResult

STAGES = (ApplyConfig, Bootstrap, Workers, FetchKubeconfig, Verify)
QUICK = Limits(boot=60.0, install=60.0, etcd=60.0, kubernetes=120.0, interval=0.1)


class NodeSite:
    """Machines that wait in maintenance mode, and a directory that says what they are to be."""

    def __init__(self, folder: Path, tools: Tools, bundle: Bundle, **settings: Any) -> None:
        self.lab = Lab(folder, tools, **settings)
        self.bundle = bundle
        self.root = folder / "site"
        self.events: list[Event] = []

    async def start(self, *names: str, **overrides: Any) -> None:
        await self.lab.start(*names, **overrides)
        self.write(self.root)

    def write(self, root: Path) -> None:
        """The inventory and the secrets; the latter in plain, which talops reads as well."""
        root.mkdir()
        planes = [name for name in self.lab.machines if name.startswith("cp")]
        vip = f"cluster_api_addr: {self.lab.network}.250\n" if len(planes) > 1 else ""
        (root / "cluster.yaml").write_text(
            "cluster_name: lab\ntalos_version: v1.13.9\nkubernetes_version: v1.36.1\n"
            f"node_cidr: {self.lab.network}.0/24\n"
            f"node_default_gateway: {self.lab.network}.253\n{vip}"
        )
        rows = [
            f"  - {{name: {name}, address: {self.lab.address(name)}, disk: /dev/sda,"
            f" mac_addr: '{machine.nics[0].mac}', uuid: {machine.uuid},"
            f" controller: {str(name in planes).lower()}}}\n"
            for name, machine in self.lab.machines.items()
        ]
        (root / "nodes.yaml").write_text("nodes:\n" + "".join(rows))
        secrets = new_secrets(root, sealed=False).path
        secrets.parent.mkdir()
        secrets.write_text(self.bundle.to_yaml())

    async def run(
        self,
        last: str = "verify",
        limits: Limits = QUICK,
        nodes: str = "",
        admission: Admission = NOTHING_SAID,
    ) -> RunResult:
        """The stages up to `last`, in this process, with the time limits of a test."""
        nothing: Any = None
        site = Site(
            cluster=load(self.root).require(),
            root=self.root,
            sops=nothing,
            engine=Path(),
            environment={},
            credentials={},
            kubeconfig=self.root / "kubeconfig",
            limits=limits,
            nodes=re.compile(nodes),
        )
        secrets = SecretsFile(site, lambda *_: None)
        emit = self.events.append
        kinds = STAGES[: [kind.name for kind in STAGES].index(last) + 1]
        said: Any = {"admission": admission}
        admits = {ApplyConfig, Workers}
        stages = [
            kind(site, secrets, Reporter(kind.name, emit), **(said if kind in admits else {}))
            for kind in kinds
        ]
        return await run_stages(stages, emit=emit, options=Options(max_parallel=10))

    async def talops(self, root: Path | None = None) -> asyncio.subprocess.Process:
        """Talops as its users start it, from the first apply to the kubeconfig."""
        words = ("up", "--yes", "--from", "apply-config", "--until", "kubeconfig", "-o", "json")
        return await self.command(*words, root=root)

    async def command(self, *words: str, root: Path | None = None) -> asyncio.subprocess.Process:
        """Any command of talops in this directory."""
        return await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "talops",
            *words,
            cwd=root or self.root,
            env={**os.environ, "NO_COLOR": "1"},
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            start_new_session=True,
        )

    async def start_over(self) -> None:
        """Every machine blank and back in maintenance mode, the directory without a memory."""
        for machine in self.lab.machines.values():
            await self.lab.host.destroy(machine.uuid)
        self.lab.host.fabric.foundings.clear()
        shutil.rmtree(self.root)
        self.write(self.root)
        for name, machine in self.lab.machines.items():
            await self.lab.host.power_on(machine)
            await self.lab.listening(name)

    async def assert_one_cluster(self) -> None:
        """One founding was accepted, and etcd is one cluster of exactly the control planes."""
        planes = {name for name in self.lab.machines if name.startswith("cp")}
        assert self.lab.host.fabric.foundings == {self.bundle.cluster_id: [min(planes)]}
        identities = set()
        for name in planes:
            etcd = self.lab.node(name).control_plane.etcd
            assert etcd is not None
            assert {m.name for m in await until(etcd.client.members)} == planes
            identities.add((await etcd.client.status())["header"]["cluster_id"])
        assert len(identities) == 1, identities


async def ended(process: asyncio.subprocess.Process) -> tuple[int, str]:
    """Exit code and what it said."""
    try:
        out, said = await process.communicate()
    except asyncio.CancelledError:
        kill(process)
        raise
    assert process.returncode is not None
    return process.returncode, ((said or b"") + out).decode()[-4000:]


def kill(process: asyncio.subprocess.Process) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)

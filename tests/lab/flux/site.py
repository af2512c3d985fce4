"""One control plane, a Git server, a release mirror and the played Flux, with a site on top."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.lab.talos.harness import Lab

from talops.cli.app import run
from talops.delivery.flux_keys import every_key
from talops.inventory.load import load
from talops.kube.client import KubeClient
from talops.kube.kubeconfig import load as load_kubeconfig
from talops.lab.context import LabContext
from talops.lab.faults import Faults
from talops.lab.flux.service import FluxService
from talops.lab.git.service import GitService
from talops.lab.kubernetes.pki import Authority as KubeAuthority
from talops.lab.kubernetes.pki import Subject
from talops.lab.layout import Layout
from talops.lab.network import claim
from talops.lab.pki import Authority
from talops.lab.proxmox.seed import Credentials
from talops.lab.releases.service import ReleasesService
from talops.lab.spec import LabSpec
from talops.pipeline.runner import run_stages
from talops.pipeline.stage import Reporter
from talops.secrets.cluster_key import CURRENT, NEXT
from talops.secrets.init import init as make_secrets
from talops.secrets.sops import Sops
from talops.secrets.vault import Vault
from talops.site.site import Limits, Site
from talops.stages.addons import Addons
from talops.stages.gitops import GitOps
from talops.workflows.split import split

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from talops.events import Event
    from talops.kube.objects import Object, Ref
    from talops.pipeline.result import RunResult
    from talops.redaction import Secret
    from talops.secrets.age import AgeKey

# What `secrets init` wrote before clusters had identities of their own.
OLD_RULES = r"""# Who can read the secrets of this repository.
creation_rules:
  # Talos secrets: every value.
  - path_regex: talos/.*\.sops\.ya?ml
    age: AGE
  # Kubernetes secrets: only the values.
  - path_regex: (bootstrap|kubernetes)/.*\.sops\.ya?ml
    encrypted_regex: ^(data|stringData)$
    mac_only_encrypted: true
    age: AGE
  # Credentials of talops and OpenTofu.
  - path_regex: infrastructure/.*\.sops\.ya?ml
    mac_only_encrypted: true
    age: AGE
stores:
  yaml:
    indent: 2
"""
QUICK = Limits(kubernetes=60.0, interval=0.1)


class Reporting:
    """The part of a record that stages use."""

    def __init__(self, emit: Callable[[Event], None]) -> None:
        self._emit = emit

    def report(self, stage: str) -> Reporter:
        return Reporter(stage, self._emit)


class Scene:
    """Everything that a hand-over needs; `close` ends all of it."""

    def __init__(self, folder: Path, tool: Callable[[str], Path]) -> None:
        async def find(name: str) -> Path:
            return tool(name)

        self.root = folder / "site"
        self.root.mkdir()
        self._tool = tool
        self.lab = Lab(folder, find)
        layout = Layout(folder / "world")
        network, self._listener = claim(folder, None)
        authority = Authority(layout.pki)
        authority.ensure()
        context = LabContext(
            LabSpec(),
            layout,
            network,
            authority,
            Credentials("password", "the-lab-token"),
            Faults(layout.faults),
        )
        self.ca = authority.certificate
        self.git = GitService(context)
        self.releases = ReleasesService(context)
        self.flux = FluxService(lambda: layout.state("flux"), self.lab.host.fabric.kube_apis, find)
        self.events: list[Event] = []
        self.learnt: list[Secret] = []
        self.credentials: dict[str, Secret] = {}
        # The identity of the cluster, as the encrypted file has it.
        self.own: dict[str, Secret] = {}

    async def start(self, *names: str) -> None:
        for service in (self.git, self.releases, self.flux):
            await service.start()
        await self.lab.cluster(*names)
        (self.root / "lab-ca.pem").write_bytes(self.ca.read_bytes())
        self.write_inventory()
        self._write_kubeconfig()
        self.sops = (await make_secrets(self.bare_sops, self.root / "age.key", hook=False)).sops
        await self.read_own()

    async def read_own(self) -> None:
        kept = await Vault.of(self.sops).read()
        self.own = {name: kept[name] for name in (CURRENT, NEXT) if name in kept}

    async def share_one_key(self) -> None:
        """As talops 0.1 made a repository: the cluster gets the key of its operator."""
        assert self.sops.keys
        recipient = self.sops.keys.keys[0].recipient
        (self.root / ".sops.yaml").write_text(OLD_RULES.replace("AGE", recipient))
        await Vault.of(self.sops).write({}, remove=[CURRENT])
        await self.read_own()

    async def split(self, *, rotate: bool = False) -> RunResult:
        """The workflow of `talops secrets split`."""
        record: Any = Reporting(self.events.append)
        stages = split(self.site, record, rotate=rotate)
        result = await run_stages(stages, emit=self.events.append)
        await self.read_own()
        return result

    async def held(self) -> tuple[AgeKey, ...]:
        """The identities in the cluster."""
        async with self.kube() as kube:
            return await every_key(kube)

    @property
    def bare_sops(self) -> Sops:
        return Sops(self._tool("sops"), self.root)

    def write_inventory(
        self, more: str = "", *, url: str = "", releases: Mapping[str, Any] | None = None
    ) -> None:
        """`releases` replaces single entries of the mirror's own list."""
        pins = {
            name: {**entry, "ca_file": "lab-ca.pem"}
            for name, entry in self.releases.endpoints().items()
        }
        pins |= releases or {}
        gitops = f"gitops: {{url: '{url or self.git.endpoints()['url']}', ca_file: lab-ca.pem}}\n"
        text = f"""\
cluster_name: lab
talos_version: v1.13.9
kubernetes_version: v1.36.1
node_cidr: {self.lab.network}.0/24
node_default_gateway: {self.lab.network}.254
proxmox_api_url: https://pve.example:8006
proxmox_node: pve
repository_name: lab/home
releases: {json.dumps(pins)}
{more if "gitops:" in more else gitops + more}"""
        (self.root / "cluster.yaml").write_text(text)
        rows = [
            f"  - {{name: {name}, address: {self.lab.address(name)},"
            f" controller: {str(name.startswith('cp')).lower()}}}\n"
            for name in self.lab.machines
        ]
        (self.root / "nodes.yaml").write_text("nodes:\n" + "".join(rows))

    def _write_kubeconfig(self) -> None:
        pair = KubeAuthority(self.lab.files.k8s_ca).issue(
            Subject("admin", ("system:masters",), client=True)
        )
        server = f"https://{self.lab.address('cp-1')}:6443"
        ca = _b64(self.lab.files.k8s_ca.crt)
        user = {"client-certificate-data": _b64(pair.crt), "client-key-data": _b64(pair.key)}
        config = {
            "current-context": "lab",
            "contexts": [{"name": "lab", "context": {"cluster": "lab", "user": "lab"}}],
            "clusters": [
                {"name": "lab", "cluster": {"server": server, "certificate-authority-data": ca}}
            ],
            "users": [{"name": "lab", "user": user}],
        }
        (self.root / "kubeconfig").write_text(json.dumps(config))

    @property
    def site(self) -> Site:
        return Site(
            cluster=load(self.root).require(),
            root=self.root,
            sops=self.sops,
            engine=Path("/nonexistent"),
            environment=dict(os.environ),
            credentials={**self.own, **self.credentials},
            kubeconfig=self.root / "kubeconfig",
            limits=QUICK,
        )

    def kube(self) -> KubeClient:
        config = load_kubeconfig(self.root / "kubeconfig")
        assert config
        return KubeClient(config)

    async def get(self, ref: Ref) -> Object | None:
        async with self.kube() as kube:
            return await kube.get(ref)

    async def init_repository(self) -> None:
        assert await asyncio.to_thread(run, ["gitops", "init", "-C", str(self.root)]) == 0

    async def push(self, url: str = "", branch: str = "main") -> str:
        """Commit all of the site's folder and push it; the commit."""
        if not (self.root / ".git").exists():
            self._git("init", "--quiet", "--initial-branch=main")
        self._git("add", "--all")
        self._git("commit", "--quiet", "--allow-empty", "--message", "change")
        target = url or self.git.endpoints()["url"]
        token = self.git.endpoints()["token"]
        target = target.replace("https://", f"https://lab:{token}@")
        settings = ("-c", f"http.sslCAInfo={self.ca}")
        await asyncio.to_thread(self._git, *settings, "push", "--quiet", target, f"HEAD:{branch}")
        return self._git("rev-parse", "HEAD").strip()

    def _git(self, *words: str) -> str:
        author = {
            f"GIT_{who}_{what}": "lab@example.com"
            for who in ("AUTHOR", "COMMITTER")
            for what in ("NAME", "EMAIL")
        }
        done = subprocess.run(
            ["git", "-C", str(self.root), *words],
            env={"PATH": os.environ["PATH"], "HOME": str(self.root), **author},
            check=True,
            timeout=60,
            capture_output=True,
            text=True,
        )
        return done.stdout

    async def run_gitops(self) -> RunResult:
        report = Reporter("gitops", self.events.append)
        stage = GitOps(self.site, lambda *s: self.learnt.extend(s), report)
        return await run_stages([stage], emit=self.events.append)

    async def run_addons(self) -> RunResult:
        report = Reporter("addons", self.events.append)
        return await run_stages([Addons(self.site, report)], emit=self.events.append)

    async def close(self) -> None:
        for service in (self.flux, self.releases, self.git):
            await service.stop()
        await self.lab.close()
        self._listener.close()


def _b64(data: bytes) -> str:
    return base64.b64encode(data).decode()

"""The real kube-controller-manager and kube-scheduler of a cluster that runs workloads.

One pair per cluster, on the control plane that a real cluster would call the leader: it takes over
at once when another control plane goes, while real ones wait for the end of a lease.
"""

from __future__ import annotations

import asyncio
import base64
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from talops.files import PRIVATE, write_atomic
from talops.lab.kubernetes.apiserver import PORT
from talops.lab.kubernetes.pki import Authority, KeyPair, Subject
from talops.lab.kubernetes.process import Process

if TYPE_CHECKING:
    from pathlib import Path

MANAGER, SCHEDULER = "kube-controller-manager", "kube-scheduler"
PROGRAMS = (MANAGER, SCHEDULER)
_USERS = {name: f"system:{name}" for name in PROGRAMS}
# A lab's API server answers this process alone: the usual limits would only slow it down.
_CALLS_PER_SECOND = 200


@dataclass(frozen=True)
class ControllerSettings:
    """`binaries` by program; `grace` is how long a silent node stays Ready."""

    binaries: dict[str, Path]
    directory: Path
    address: str
    cluster_name: str
    ca: KeyPair
    root_cas: bytes  # what pods trust, as PEM
    service_account_key: bytes
    pod_cidrs: tuple[str, ...]
    service_cidrs: tuple[str, ...]
    grace: float


class Controllers:
    """Both processes, started and stopped together."""

    def __init__(self, settings: ControllerSettings) -> None:
        self.settings = settings
        self._processes: dict[str, Process] = {}

    @property
    def running(self) -> bool:
        found = self._processes.values()
        return len(found) == len(PROGRAMS) and all(process.running for process in found)

    async def start(self) -> None:
        """Also starts again whichever of them has ended."""
        await asyncio.to_thread(_write_files, self.settings)
        for name in PROGRAMS:
            known = self._processes.get(name)
            if known is None or not known.running:
                log = self.settings.directory / f"{name}.log"
                self._processes[name] = Process(_arguments(name, self.settings), log=log)
                await self._processes[name].start()

    async def stop(self, *, grace: float = 10.0) -> None:
        await asyncio.gather(*(p.stop(grace=grace) for p in self._processes.values()))
        self._processes.clear()

    @property
    def processes(self) -> list[Process]:
        return list(self._processes.values())


def _write_files(settings: ControllerSettings) -> None:
    directory = settings.directory
    directory.mkdir(parents=True, exist_ok=True, mode=0o700)
    authority = Authority(settings.ca)
    settings.ca.write(directory, "signing-ca")
    write_atomic(directory / "root-cas.crt", settings.root_cas)
    write_atomic(directory / "service-account.key", settings.service_account_key, mode=PRIVATE)
    for name, user in _USERS.items():
        pair = authority.issue(Subject(user, (user,), client=True))
        text = json.dumps(_kubeconfig(settings, user, pair))
        write_atomic(directory / f"{name}.kubeconfig", text, mode=PRIVATE)


def _kubeconfig(settings: ControllerSettings, user: str, pair: KeyPair) -> dict[str, Any]:
    cluster = {
        "server": f"https://{settings.address}:{PORT}",
        "certificate-authority-data": _base64(settings.root_cas),
    }
    credentials = {
        "client-certificate-data": _base64(pair.crt),
        "client-key-data": _base64(pair.key),
    }
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "lab", "cluster": cluster}],
        "users": [{"name": user, "user": credentials}],
        "contexts": [{"name": "lab", "context": {"cluster": "lab", "user": user}}],
        "current-context": "lab",
    }


def _base64(content: bytes) -> str:
    return base64.b64encode(content).decode()


def _arguments(name: str, settings: ControllerSettings) -> list[str]:
    """As Talos starts them, but for the address, leader election and the limits of calls."""
    kubeconfig = settings.directory / f"{name}.kubeconfig"
    flags: dict[str, Any] = {
        "kubeconfig": kubeconfig,
        "authentication-kubeconfig": kubeconfig,
        "authorization-kubeconfig": kubeconfig,
        "bind-address": settings.address,
        "leader-elect": "false",
        "profiling": "false",
        "kube-api-qps": _CALLS_PER_SECOND,
        "kube-api-burst": 2 * _CALLS_PER_SECOND,
        **(_of_manager(settings) if name == MANAGER else {}),
    }
    words = [f"--{flag}={value}" for flag, value in flags.items()]
    return [str(settings.binaries[name]), *words]


def _of_manager(settings: ControllerSettings) -> dict[str, Any]:
    files = settings.directory
    return {
        "allocate-node-cidrs": "true",
        "cluster-cidr": ",".join(settings.pod_cidrs),
        "cluster-name": settings.cluster_name,
        "service-cluster-ip-range": ",".join(settings.service_cidrs),
        "cluster-signing-cert-file": files / "signing-ca.crt",
        "cluster-signing-key-file": files / "signing-ca.key",
        "controllers": "*",
        "configure-cloud-routes": "false",
        "root-ca-file": files / "root-cas.crt",
        "service-account-private-key-file": files / "service-account.key",
        "terminated-pod-gc-threshold": 100,
        "use-service-account-credentials": "true",
        # How often it looks at the leases of nodes, and how old one may be.
        "node-monitor-period": f"{min(5.0, settings.grace / 4)}s",
        "node-monitor-grace-period": f"{settings.grace}s",
    }

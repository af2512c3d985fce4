"""One real kube-apiserver, with the PKI of the node's machine config."""

from __future__ import annotations

import asyncio
import ipaddress
import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import httpx

from talops.errors import NotReadyError
from talops.files import PRIVATE, write_atomic
from talops.lab.kubernetes.http import Http
from talops.lab.kubernetes.pki import Authority, KeyPair, Subject, client_context
from talops.lab.kubernetes.process import Process

if TYPE_CHECKING:
    import ssl
    from collections.abc import Mapping
    from pathlib import Path

PORT = 6443


@dataclass(frozen=True)
class ApiServerSettings:
    """The API server settings of the machine config."""

    binary: Path
    directory: Path
    address: str
    image: str  # of the static pod; another image means a restart
    endpoint: str  # https://…:6443, as the cluster names itself
    ca: KeyPair
    client_cas: bytes  # whose clients are accepted, as PEM
    aggregator_ca: KeyPair
    etcd_ca: KeyPair
    service_account_key: bytes
    service_cidrs: tuple[str, ...]
    names: tuple[str, ...] = ()
    # Public keys, as PEM, that tokens may also be signed with.
    accepted_keys: bytes = b""
    # (name, secret); the first one encrypts.
    secretbox: tuple[tuple[str, str], ...] = ()
    aescbc: str = ""  # of clusters from before Talos 1.3
    admission: tuple[Mapping[str, Any], ...] = ()
    extra_args: Mapping[str, Any] = field(default_factory=dict)
    tolerated: int = 300  # seconds that pods stay on a node that is not ready


class ApiServer:
    """The process, and whether it is ready."""

    def __init__(self, settings: ApiServerSettings) -> None:
        self.settings = settings
        self._process: Process | None = None

    @property
    def running(self) -> bool:
        return self._process is not None and self._process.running

    @property
    def process(self) -> Process | None:
        return self._process

    async def start(self) -> None:
        await asyncio.to_thread(_write_files, self.settings)
        log = self.settings.directory / "kube-apiserver.log"
        self._process = Process(_arguments(self.settings), log=log)
        await self._process.start()

    async def stop(self, *, grace: float = 10.0) -> None:
        if self._process is not None:
            await self._process.stop(grace=grace)

    async def wait_ready(self, limit: float) -> None:
        url = f"https://{self.settings.address}:{PORT}/readyz"
        http = Http(self.admin_context(), timeout=5.0)
        try:
            async with asyncio.timeout(limit):
                while not await _ready(http, url):
                    if not self.running:
                        words = self._process.last_words() if self._process else ""
                        raise NotReadyError(f"kube-apiserver ended: {words}", where=url)
                    await asyncio.sleep(0.1)
        finally:
            await http.close()

    def admin_context(self) -> ssl.SSLContext:
        return admin_context(self.settings.ca)


def admin_context(ca: KeyPair, servers: bytes = b"") -> ssl.SSLContext:
    """`servers`: the CAs of the API servers, if not only this one."""
    subject = Subject(common_name="admin", organizations=("system:masters",), client=True)
    return client_context(servers or ca.crt, Authority(ca).issue(subject))


async def _ready(http: Http, url: str) -> bool:
    try:
        return (await http.request("GET", url)).is_success
    except httpx.HTTPError:
        return False


def _write_files(settings: ApiServerSettings) -> None:
    directory = settings.directory
    directory.mkdir(parents=True, exist_ok=True, mode=0o700)
    authority = Authority(settings.ca)
    for name, content in (
        ("ca.crt", settings.client_cas),
        ("accepted.pub", settings.accepted_keys),
        ("etcd-ca.crt", settings.etcd_ca.crt),
        ("aggregator-ca.crt", settings.aggregator_ca.crt),
        ("service-account.key", settings.service_account_key),
        ("encryption.json", _encryption(settings.secretbox, settings.aescbc)),
        ("admission.json", _admission(settings.admission)),
    ):
        write_atomic(directory / name, content, mode=PRIVATE)
    authority.issue(_serving(settings)).write(directory, "apiserver")
    kubelet = Subject("kube-apiserver-kubelet-client", ("system:masters",), client=True)
    authority.issue(kubelet).write(directory, "kubelet-client")
    proxy = Subject("front-proxy-client", client=True)
    Authority(settings.aggregator_ca).issue(proxy).write(directory, "front-proxy")
    etcd = Subject("kube-apiserver-etcd-client", client=True)
    Authority(settings.etcd_ca).issue(etcd).write(directory, "etcd-client")


def _serving(settings: ApiServerSettings) -> Subject:
    first = next(ipaddress.ip_network(settings.service_cidrs[0]).hosts())
    names = (
        settings.address,
        "127.0.0.1",
        str(first),
        "localhost",
        "kubernetes",
        "kubernetes.default",
        "kubernetes.default.svc",
        "kubernetes.default.svc.cluster.local",
        *settings.names,
    )
    return Subject("kube-apiserver", ("kube-master",), names, server=True)


def _encryption(secretbox: tuple[tuple[str, str], ...], older: str = "") -> str:
    providers: list[dict[str, Any]] = [{"identity": {}}]
    if older:
        providers.insert(0, {"aescbc": {"keys": [{"name": "key1", "secret": older}]}})
    if secretbox:
        keys = [{"name": name, "secret": secret} for name, secret in secretbox]
        providers.insert(0, {"secretbox": {"keys": keys}})
    return json.dumps(
        {
            "apiVersion": "apiserver.config.k8s.io/v1",
            "kind": "EncryptionConfiguration",
            "resources": [{"resources": ["secrets"], "providers": providers}],
        }
    )


def _admission(plugins: tuple[Mapping[str, Any], ...]) -> str:
    return json.dumps(
        {
            "apiVersion": "apiserver.config.k8s.io/v1",
            "kind": "AdmissionConfiguration",
            "plugins": [
                {"name": p["name"], "configuration": p.get("configuration", {})} for p in plugins
            ],
        }
    )


def _arguments(settings: ApiServerSettings) -> list[str]:
    files, address = settings.directory, settings.address
    flags: dict[str, Any] = {
        "etcd-servers": f"https://{address}:2379",
        "etcd-cafile": files / "etcd-ca.crt",
        "etcd-certfile": files / "etcd-client.crt",
        "etcd-keyfile": files / "etcd-client.key",
        "bind-address": address,
        "advertise-address": address,
        "secure-port": PORT,
        "tls-cert-file": files / "apiserver.crt",
        "tls-private-key-file": files / "apiserver.key",
        "client-ca-file": files / "ca.crt",
        "service-account-key-file": [
            files / "service-account.key",
            *([files / "accepted.pub"] if settings.accepted_keys else []),
        ],
        "service-account-signing-key-file": files / "service-account.key",
        "service-account-issuer": settings.endpoint,
        "api-audiences": settings.endpoint,
        "authorization-mode": "Node,RBAC",
        "enable-admission-plugins": "NodeRestriction",
        "admission-control-config-file": files / "admission.json",
        "encryption-provider-config": files / "encryption.json",
        "enable-bootstrap-token-auth": "true",
        "service-cluster-ip-range": ",".join(settings.service_cidrs),
        "allow-privileged": "true",
        # Loopback addresses are not allowed in an Endpoints object.
        "endpoint-reconciler-type": "none",
        "kubelet-client-certificate": files / "kubelet-client.crt",
        "kubelet-client-key": files / "kubelet-client.key",
        "proxy-client-cert-file": files / "front-proxy.crt",
        "proxy-client-key-file": files / "front-proxy.key",
        "default-not-ready-toleration-seconds": settings.tolerated,
        "default-unreachable-toleration-seconds": settings.tolerated,
        "requestheader-client-ca-file": files / "aggregator-ca.crt",
        "requestheader-allowed-names": "front-proxy-client",
        "requestheader-extra-headers-prefix": "X-Remote-Extra-",
        "requestheader-group-headers": "X-Remote-Group",
        "requestheader-username-headers": "X-Remote-User",
    }
    flags.update(settings.extra_args)
    return [str(settings.binary), *_flags(flags)]


def _flags(flags: Mapping[str, Any]) -> list[str]:
    many = {name: value if isinstance(value, list) else [value] for name, value in flags.items()}
    return [f"--{name}={value}" for name, values in many.items() for value in values]

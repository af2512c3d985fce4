"""One real etcd member, as Talos runs it on a control plane."""

from __future__ import annotations

import asyncio
import shutil
from dataclasses import dataclass
from typing import TYPE_CHECKING

from talops.errors import ConflictError, NotReadyError, UnreachableError
from talops.lab.kubernetes.etcd_client import EtcdClient, Member
from talops.lab.kubernetes.pki import Authority, KeyPair, Subject, client_context
from talops.lab.kubernetes.process import Process
from talops.lab.kubernetes.snapshot import read_snapshot

if TYPE_CHECKING:
    from pathlib import Path

_RESTORE_LIMIT = 30.0


@dataclass(frozen=True)
class EtcdSettings:
    """Where a member lives; `directory` holds its data, certificates and log."""

    binary: Path
    directory: Path
    name: str
    address: str
    ca: KeyPair
    metrics_port: int | None = None

    @property
    def data(self) -> Path:
        return self.directory / "data"

    @property
    def peer_url(self) -> str:
        return f"https://{self.address}:2380"


class EtcdMember:
    """The process and a client for it."""

    def __init__(self, settings: EtcdSettings) -> None:
        self.settings = settings
        self._process: Process | None = None
        pair = Authority(settings.ca).issue(_subject(settings))
        self._context = client_context(settings.ca.crt, pair)
        self.client = EtcdClient(settings.address, self._context)

    @property
    def has_data(self) -> bool:
        data = self.settings.data
        return data.is_dir() and any(data.iterdir())

    @property
    def running(self) -> bool:
        return self._process is not None and self._process.running

    @property
    def process(self) -> Process | None:
        return self._process

    def peer(self, address: str) -> EtcdClient:
        return EtcdClient(address, self._context)

    async def start(self, initial_cluster: str | None = None, *, joining: bool = False) -> None:
        """`initial_cluster` matters only while there is no data yet."""
        await asyncio.to_thread(self._write_certificates)
        log = self.settings.directory / "etcd.log"
        self._process = Process(self._arguments(initial_cluster, joining=joining), log=log)
        await self._process.start()

    async def stop(self, *, grace: float = 10.0) -> None:
        if self._process is not None:
            await self._process.stop(grace=grace)

    async def close(self) -> None:
        await self.client.close()

    async def bootstrap(self) -> None:
        """Create a new cluster with only this member."""
        await self.start(f"{self.settings.name}={self.settings.peer_url}")

    async def join(self, through: str) -> int:
        """Join the cluster at `through` as a learner; returns the member id."""
        other = self.peer(through)
        try:
            for member in await other.members():
                if member.name == self.settings.name or self.settings.peer_url in member.peer_urls:
                    await other.remove(member.id)
            identifier = await other.add_learner(self.settings.peer_url)
            members = await other.members()
        finally:
            await other.close()
        await self.start(_initial_cluster(members, identifier, self.settings.name), joining=True)
        return identifier

    async def promote(self, through: str, identifier: int) -> bool:
        """Ask another member to promote this one; False while it has not caught up."""
        other = self.peer(through)
        try:
            await other.promote(identifier)
        except (NotReadyError, UnreachableError):
            return False
        except ConflictError as error:
            return error.what.endswith("can only promote a learner member")  # already promoted
        finally:
            await other.close()
        return True

    async def restore(self, snapshot: bytes, *, skip_hash_check: bool) -> None:
        """Create a new cluster with the latest state of the snapshot."""
        pairs = await asyncio.to_thread(read_snapshot, snapshot, skip_hash_check=skip_hash_check)
        await self.bootstrap()
        await self.wait_healthy(_RESTORE_LIMIT)
        await self.client.put_all(pairs.items())

    async def wait_healthy(self, limit: float) -> None:
        async with asyncio.timeout(limit):
            while not await self.client.healthy():
                if not self.running:
                    words = self._process.last_words() if self._process else ""
                    raise NotReadyError(f"etcd ended: {words}", where=self.settings.address)
                await asyncio.sleep(0.05)

    def wipe(self) -> None:
        shutil.rmtree(self.settings.data, ignore_errors=True)

    def _write_certificates(self) -> None:
        authority, pki = Authority(self.settings.ca), self.settings.directory / "pki"
        (self.settings.directory / "data").mkdir(parents=True, exist_ok=True, mode=0o700)
        pki.mkdir(parents=True, exist_ok=True, mode=0o700)
        (pki / "ca.crt").write_bytes(authority.pem)
        for name in ("server", "peer"):
            authority.issue(_subject(self.settings)).write(pki, name)

    def _arguments(self, initial_cluster: str | None, *, joining: bool) -> list[str]:
        settings, pki = self.settings, self.settings.directory / "pki"
        client = f"https://{settings.address}:2379"
        flags = {
            "name": settings.name,
            "data-dir": settings.data,
            "listen-peer-urls": settings.peer_url,
            "initial-advertise-peer-urls": settings.peer_url,
            "listen-client-urls": client,
            "advertise-client-urls": client,
            "client-cert-auth": "true",
            "cert-file": pki / "server.crt",
            "key-file": pki / "server.key",
            "trusted-ca-file": pki / "ca.crt",
            "peer-client-cert-auth": "true",
            "peer-cert-file": pki / "peer.crt",
            "peer-key-file": pki / "peer.key",
            "peer-trusted-ca-file": pki / "ca.crt",
            "initial-cluster-state": "existing" if joining else "new",
            "unsafe-no-fsync": "true",
            "log-level": "warn",
        }
        if settings.metrics_port:
            flags["listen-metrics-urls"] = f"https://{settings.address}:{settings.metrics_port}"
        if initial_cluster:
            flags["initial-cluster"] = initial_cluster
        return [str(settings.binary), *(f"--{name}={value}" for name, value in flags.items())]


def _subject(settings: EtcdSettings) -> Subject:
    # The gateway inside etcd calls its own port with the server certificate: both usages.
    names = (settings.address, "127.0.0.1", "localhost", settings.name)
    return Subject(common_name=settings.name, names=names, server=True, client=True)


def _initial_cluster(members: list[Member], own: int, name: str) -> str:
    return ",".join(
        f"{name if member.id == own else member.name}={url}"
        for member in members
        for url in member.peer_urls
    )

"""A control plane restored from a snapshot: real etcd and API server, no Talos, no node.

Everything that it writes is below one directory, which holds every secret of the cluster in plain:
the caller chooses one in memory.
"""

from __future__ import annotations

import random
import socket
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from talops.errors import NotReadyError, TalopsError, ToolError
from talops.lab.kubernetes.apiserver import PORT, ApiServer, ApiServerSettings, admin_context
from talops.lab.kubernetes.etcd import EtcdMember, EtcdSettings
from talops.lab.kubernetes.http import Http
from talops.lab.kubernetes.process import Process

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from talops.lab.kubernetes.pki import KeyPair

_NAME = "drill"
_LIMIT = 120.0
_PAGE = 500
_PORTS = (2379, 2380, PORT)
_TRIES = 50


@dataclass(frozen=True)
class Authorities:
    """The CAs and keys of the cluster, PEM."""

    etcd: KeyPair
    kubernetes: KeyPair
    aggregator: KeyPair
    service_account: bytes
    # (name, secret); a snapshot refers to each by its name.
    secretbox: tuple[tuple[str, str], ...]
    aescbc: str = ""


@dataclass(frozen=True)
class Programs:
    etcd: Path
    etcdutl: Path
    apiserver: Path


class RestoredControlPlane:
    def __init__(
        self, directory: Path, programs: Programs, authorities: Authorities, services: str
    ) -> None:
        """`services` is the network of the cluster's services."""
        self._directory, self._programs, self._services = directory, programs, services
        self._authorities = authorities
        self.address = free_address()
        self._etcd = EtcdMember(
            EtcdSettings(programs.etcd, directory / "etcd", _NAME, self.address, authorities.etcd)
        )
        self._apiserver: ApiServer | None = None
        self._http: Http | None = None

    async def restore(self, snapshot: Path, *, skip_hash_check: bool) -> None:
        """As Talos does it: a cluster of one member with the data of the snapshot."""
        settings = self._etcd.settings
        settings.directory.mkdir(parents=True, mode=0o700)
        argv = [
            *(str(self._programs.etcdutl), "snapshot", "restore", str(snapshot)),
            *("--name", settings.name, "--data-dir", str(settings.data)),
            *("--initial-cluster", f"{settings.name}={settings.peer_url}"),
            *("--initial-advertise-peer-urls", settings.peer_url),
            *(["--skip-hash-check"] if skip_hash_check else []),
        ]
        process = Process(argv, log=self._directory / "etcdutl.log")
        await process.start()
        if await process.wait():
            raise ToolError(
                f"etcdutl refused the snapshot: {process.last_words(1)}", where=str(argv[0])
            )
        await self._etcd.start()
        await self._etcd.wait_healthy(_LIMIT)

    async def pairs(self) -> AsyncIterator[tuple[bytes, bytes]]:
        """Every key and value that the restored etcd has."""
        start = b"\0"
        while True:
            page = await self._etcd.client.page(start, _PAGE)
            for key, value in page:
                yield key, value
            if len(page) < _PAGE:
                return
            start = page[-1][0] + b"\0"

    async def serve(self) -> None:
        own = self._authorities
        settings = ApiServerSettings(
            binary=self._programs.apiserver,
            directory=self._directory / "apiserver",
            address=self.address,
            image="",
            endpoint=f"https://{self.address}:{PORT}",
            ca=own.kubernetes,
            client_cas=own.kubernetes.crt,
            aggregator_ca=own.aggregator,
            etcd_ca=own.etcd,
            service_account_key=own.service_account,
            service_cidrs=(self._services,),
            secretbox=own.secretbox,
            aescbc=own.aescbc,
        )
        self._apiserver = ApiServer(settings)
        await self._apiserver.start()
        try:
            await self._apiserver.wait_ready(_LIMIT)
        except TimeoutError as error:
            raise NotReadyError(
                f"kube-apiserver is not ready after {_LIMIT:g} s", where=self.address
            ) from error

    async def get(self, path: str, **query: str) -> dict[str, Any]:
        """An answer of the API server; metadata only where a list is asked for."""
        self._http = self._http or Http(
            admin_context(self._authorities.kubernetes),
            base_url=f"https://{self.address}:{PORT}",
            timeout=60.0,
        )
        kind = "PartialObjectMetadataList"
        accept = f"application/json;as={kind};g=meta.k8s.io;v=v1,application/json"
        reply = await self._http.request("GET", path, params=query, headers={"Accept": accept})
        if not reply.is_success:
            raise TalopsError(f"HTTP {reply.status_code}: {reply.text[:200]}", where=path)
        found: dict[str, Any] = reply.json()
        return found

    async def close(self) -> None:
        if self._http is not None:
            await self._http.close()
        if self._apiserver is not None:
            await self._apiserver.stop(grace=2.0)
        await self._etcd.close()
        await self._etcd.stop(grace=2.0)


def free_address() -> str:
    """A loopback address on which nothing uses the ports of a control plane."""
    for _ in range(_TRIES):
        # Labs use 127.16 and above.
        address = (
            f"127.{random.randrange(2, 15)}.{random.randrange(256)}.{random.randrange(1, 254)}"  # noqa: S311  (not a secret)
        )
        if all(_is_free(address, port) for port in _PORTS):
            return address
    raise TalopsError("no free loopback address for a restored control plane")


def _number(first: int, last: int) -> int:
    return random.randint(first, last)  # noqa: S311  (not a secret)


def _is_free(address: str, port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((address, port))
        except OSError:
            return False
    return True

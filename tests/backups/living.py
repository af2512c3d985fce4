"""A real etcd and a real API server with objects, whose snapshot fake control planes then send."""

from __future__ import annotations

import asyncio
import base64
import contextlib
from typing import TYPE_CHECKING, Any

from talops.cli.backup.drill import _pair
from talops.lab.kubernetes.apiserver import PORT, ApiServer, ApiServerSettings, admin_context
from talops.lab.kubernetes.etcd import EtcdMember, EtcdSettings
from talops.lab.kubernetes.http import Http
from talops.lab.kubernetes.restored import free_address

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from pathlib import Path

    from talops.machineconfig.secrets.bundle import Bundle

WIDGETS = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": "widgets.example.org"},
    "spec": {
        "group": "example.org",
        "names": {"kind": "Widget", "plural": "widgets", "singular": "widget"},
        "scope": "Namespaced",
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {"openAPIV3Schema": {"type": "object"}},
            }
        ],
    },
}
AT_ONCE = 32


class Living:
    def __init__(self, etcd: EtcdMember, http: Http) -> None:
        self.etcd, self.http = etcd, http

    async def create(self, path: str, content: dict[str, Any]) -> None:
        reply = await self.http.request("POST", path, json=content)
        assert reply.is_success, reply.text

    async def fill(self, number: int) -> None:
        """Secrets, which are encrypted in etcd, and config maps, half of each."""
        await self.create("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", WIDGETS)
        gate = asyncio.Semaphore(AT_ONCE)

        async def one(n: int) -> None:
            kind, plural = (("Secret", "secrets"), ("ConfigMap", "configmaps"))[n % 2]
            value = {"data": base64.b64encode(b"%d" % n * 20).decode()}
            content = {"apiVersion": "v1", "kind": kind, "metadata": {"name": f"n{n}"}}
            async with gate:
                path = f"/api/v1/namespaces/default/{plural}"
                await self.create(path, {**content, "data": value})

        await asyncio.gather(*(one(n) for n in range(number)))
        await self._widget()

    async def _widget(self) -> None:
        """As soon as its kind is served."""
        path = "/apis/example.org/v1/namespaces/default/widgets"
        content = {"apiVersion": "example.org/v1", "kind": "Widget", "metadata": {"name": "w"}}
        for _ in range(300):
            if (await self.http.request("POST", path, json=content)).is_success:
                return
            await asyncio.sleep(0.1)
        raise AssertionError("the custom resource is not served")

    async def snapshot(self) -> bytes:
        return b"".join([piece async for piece in self.etcd.client.snapshot()])


@contextlib.asynccontextmanager
async def living(
    folder: Path, tool: Callable[[str], Path], bundle: Bundle
) -> AsyncIterator[Living]:
    address, ca = free_address(), _pair(bundle.etcd)
    etcd = EtcdMember(EtcdSettings(tool("etcd"), folder / "etcd", "cp-1", address, ca))
    settings = ApiServerSettings(
        binary=tool("kube-apiserver"),
        directory=folder / "apiserver",
        address=address,
        image="",
        endpoint=f"https://{address}:{PORT}",
        ca=_pair(bundle.k8s),
        client_cas=_pair(bundle.k8s).crt,
        aggregator_ca=_pair(bundle.aggregator),
        etcd_ca=ca,
        service_account_key=base64.b64decode(bundle.service_account.reveal()),
        service_cidrs=("10.43.0.0/16",),
        secretbox=(("key2", bundle.secretbox.reveal()),),
    )
    server = ApiServer(settings)
    http = Http(admin_context(settings.ca), base_url=settings.endpoint, timeout=60.0)
    try:
        await etcd.bootstrap()
        await etcd.wait_healthy(30.0)
        await server.start()
        await server.wait_ready(120.0)
        yield Living(etcd, http)
    finally:
        await http.close()
        await server.stop(grace=2.0)
        await etcd.close()
        await etcd.stop(grace=2.0)

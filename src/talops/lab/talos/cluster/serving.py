"""The API server of a control plane, and its static pods as they run."""

from __future__ import annotations

import asyncio
import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING

from talops.errors import NotReadyError
from talops.lab.kubernetes.apiserver import ApiServer, ApiServerSettings
from talops.lab.kubernetes.versioned import as_version
from talops.lab.talos.cluster.components import wanted
from talops.lab.talos.cluster.leader import Leader
from talops.lab.talos.config.document import image_tag

if TYPE_CHECKING:
    from collections.abc import Mapping

    from talops.lab.kubernetes.kubelet import StaticPod
    from talops.lab.kubernetes.process import Process
    from talops.lab.talos.machine.node import Node

_POLL = 0.2
_READY_LIMIT = 120.0
_APISERVER = "kube-apiserver"


class Serving:
    """Of one control plane. In a big lab one of them serves, the others stand by."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self._leader = Leader(node)
        self._api: ApiServer | None = None
        self._binary = Path()
        self._pods: dict[str, StaticPod] = {}
        self.ready = False
        self.serves = False  # also while it starts
        self._stands_by = False
        self._showed_pods = False

    @property
    def has_pods(self) -> bool:
        """Whether the static pods run; one that stands by has its own as soon as the API server
        that serves for all of them is up.
        """
        config = self._node.config
        if config is None or not self._stands_by:
            return self.ready or bool(self._pods)
        return bool(self._node.fabric.api_servers(config.cluster_id))

    def pods(self) -> Mapping[str, StaticPod]:
        """By component, as they run now; a changed config takes effect after a restart."""
        if not self.has_pods:
            return {}
        return wanted(self._node) if self._stands_by else self._pods

    async def bring_up(self) -> None:
        if self._stand_by():
            if self.has_pods != self._showed_pods:
                self._showed_pods = self.has_pods
                self._node.publish()
            return
        while self._node.faults.apiserver_lost:  # noqa: ASYNC110  (a fault, not an event)
            await asyncio.sleep(_POLL)
        self._binary = await self._program()
        self._api = ApiServer(self._settings())
        await self._api.start()
        await self._until_ready(self._api)

    async def _until_ready(self, api: ApiServer) -> None:
        while True:
            try:
                await api.wait_ready(_READY_LIMIT)
            except (NotReadyError, TimeoutError) as error:
                self._node.journal.log(_APISERVER, str(error))
                if not api.running:
                    await asyncio.sleep(_POLL)
                    await api.start()
                continue
            break
        self.ready = True
        await self._leader.follow()
        self._show(wanted(self._node))
        await self._node.fabric.settle_vips()

    def _show(self, pods: Mapping[str, StaticPod]) -> None:
        """The kubelet writes them to the API, the node to its resources."""
        if self._pods != pods:
            self._pods = dict(pods)
            self._node.publish()
            self._node.registration.config_changed()

    async def _program(self) -> Path:
        """kube-apiserver under the version number of its image."""
        node, config = self._node, self._node.config
        assert config is not None
        version = image_tag(config.static_pod_images()[_APISERVER])
        return await as_version(
            await node.settings.tools(_APISERVER), version, node.store.kubernetes
        )

    def _stand_by(self) -> bool:
        """A big lab can run one API server for all its control planes, on the first one."""
        config = self._node.config
        assert config is not None
        if self._node.settings.apiservers == "every":
            return False
        others = self._node.fabric.control_planes(config.cluster_id)
        self.serves = not any(o.control_plane.serves for o in others if o is not self._node)
        self._stands_by = not self.serves
        return self._stands_by

    async def supervise(self) -> None:
        """Restart what has ended or has a new config, as the kubelet does."""
        if self._node.faults.apiserver_lost:
            await self._lose()
        elif self._api is None or not self._api.running:
            self.ready = False
            await self.bring_up()
        elif self._api.settings != self._settings():
            self.ready = False
            waiting = dataclasses.replace(self._pods[_APISERVER], ready=False)
            self._show({**self._pods, _APISERVER: waiting})
            await self._api.stop()
            await self.bring_up()
        elif not self.ready:  # its etcd was away
            await self._until_ready(self._api)
        await self._leader.follow()
        if self.ready:
            self._show(wanted(self._node))

    async def _lose(self) -> None:
        self.ready = False
        if _APISERVER in self._pods:
            waiting = dataclasses.replace(self._pods[_APISERVER], ready=False)
            self._show({**self._pods, _APISERVER: waiting})
        if self._api is not None:
            await self._api.stop()
        await self._node.fabric.settle_vips()

    async def stop(self, *, grace: float) -> None:
        self.ready = False
        await self._leader.stop(grace=grace)
        if self._api is not None:
            await self._api.stop(grace=grace)
            self._api = None
        self._pods = {}
        self.serves = self._stands_by = self._showed_pods = False

    @property
    def processes(self) -> list[Process]:
        own = self._api.process if self._api is not None else None
        return [*([own] if own is not None else []), *self._leader.processes]

    def _settings(self) -> ApiServerSettings:
        node, config = self._node, self._node.config
        assert config is not None
        section = config.cluster.get("apiServer") or {}
        names = (config.endpoint_host, node.hostname, *config.vips, *node.addresses)
        return ApiServerSettings(
            binary=self._binary,
            directory=node.store.kubernetes,
            address=node.addresses[0],
            image=config.static_pod_images()[_APISERVER],
            endpoint=config.endpoint,
            ca=config.authority("ca"),
            client_cas=config.trusted_kubernetes_cas,
            aggregator_ca=config.authority("aggregatorCA"),
            etcd_ca=config.authority("etcd", "ca"),
            service_account_key=config.service_account_key,
            service_cidrs=config.service_cidrs,
            names=tuple(
                dict.fromkeys(filter(None, (*names, *map(str, section.get("certSANs") or ()))))
            ),
            accepted_keys=config.accepted_service_account_keys,
            secretbox=config.encryption_keys,
            admission=tuple(section.get("admissionControl") or ()),
            extra_args=section.get("extraArgs") or {},
            tolerated=round(node.settings.timing.tolerated),
        )

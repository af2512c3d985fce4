"""Images and upgrades as clients since 1.13 call them: pull, upgrade, then a separate reboot."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from talops.lab.talos.api.power import pullable
from talops.lab.talos.call import Api
from talops.lab.talos.machine.life_cycle import stage_upgrade
from talops.talos.wire import image_pb2, lifecycle_pb2

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

_Progress = lifecycle_pb2.LifecycleServiceInstallProgress


class ImageApi(Api):
    """machine.ImageService: Pull."""

    SERVICE = "machine.ImageService"

    async def pull(
        self, request: image_pb2.ImageServicePullRequest
    ) -> AsyncIterator[image_pb2.ImageServicePullResponse]:
        timing, layer = self.node.settings.timing, image_pb2.ImageServicePullLayerProgress
        pullable(self.node, request.image_ref)
        for status in (layer.DOWNLOADING, layer.EXTRACTING, layer.EXTRACT_COMPLETE):
            await asyncio.sleep(timing.of(timing.pull) / 3)
            yield image_pb2.ImageServicePullResponse(
                pull_progress=image_pb2.ImageServicePullProgress(
                    layer_id="sha256:lab", progress=layer(status=status, total=1)
                )
            )
        yield image_pb2.ImageServicePullResponse(name=request.image_ref)


class LifecycleApi(Api):
    """machine.LifecycleService: Install and Upgrade; failures are exit codes, not errors."""

    SERVICE = "machine.LifecycleService"

    async def upgrade(
        self, request: lifecycle_pb2.LifecycleServiceUpgradeRequest
    ) -> AsyncIterator[lifecycle_pb2.LifecycleServiceUpgradeResponse]:
        reference = request.source.image_name
        async for progress in self._write(reference):
            yield lifecycle_pb2.LifecycleServiceUpgradeResponse(progress=progress)

    async def install(
        self, request: lifecycle_pb2.LifecycleServiceInstallRequest
    ) -> AsyncIterator[lifecycle_pb2.LifecycleServiceInstallResponse]:
        wanted = request.destination.disk
        if wanted not in {device.path for device in self.node.devices}:
            for progress in (_Progress(message=f"disk {wanted} not found"), _Progress(exit_code=1)):
                yield lifecycle_pb2.LifecycleServiceInstallResponse(progress=progress)
            return
        async for progress in self._write(request.source.image_name):
            yield lifecycle_pb2.LifecycleServiceInstallResponse(progress=progress)

    async def _write(self, reference: str) -> AsyncIterator[_Progress]:
        node, timing = self.node, self.node.settings.timing
        yield _Progress(message=f"running Talos installer {reference}")
        if node.faults.disk_full:
            yield _Progress(message="error: no space left on device")
            yield _Progress(exit_code=1)
            return
        pullable(node, reference)
        await asyncio.sleep(timing.of(timing.install))
        stage_upgrade(node, reference)
        yield _Progress(message="installation complete")
        yield _Progress(exit_code=0)

"""Images and upgrades as clients since 1.13 call them: pull, upgrade, then a separate reboot."""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING

from grpclib.const import Status
from grpclib.exceptions import GRPCError

from talops.lab.talos.api.power import missing, pullable, require_space
from talops.lab.talos.call import Api
from talops.lab.talos.machine.image import installer_image
from talops.lab.talos.machine.life_cycle import stage_upgrade
from talops.talos.wire import image_pb2, lifecycle_pb2

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

_Progress = lifecycle_pb2.LifecycleServiceInstallProgress
_INSTALLER = "installer"
_CODES_SINCE, _NO_SPACE = 14, 6


class ImageApi(Api):
    """machine.ImageService: Pull."""

    SERVICE = "machine.ImageService"

    async def pull(
        self, request: image_pb2.ImageServicePullRequest
    ) -> AsyncIterator[image_pb2.ImageServicePullResponse]:
        node, timing = self.node, self.node.settings.timing
        layer = image_pb2.ImageServicePullLayerProgress
        require_space(node, request.image_ref)
        if _INSTALLER in request.image_ref:
            pullable(node, request.image_ref)
        elif missing(node, request.image_ref):
            text = f"error pulling image: {request.image_ref}: not found"
            raise GRPCError(Status.NOT_FOUND, text)
        await asyncio.sleep(node.faults.slow_pull)
        for status in (layer.DOWNLOADING, layer.EXTRACTING, layer.EXTRACT_COMPLETE):
            await asyncio.sleep(timing.of(timing.pull) / 3)
            yield image_pb2.ImageServicePullResponse(
                pull_progress=image_pb2.ImageServicePullProgress(
                    layer_id="sha256:lab", progress=layer(status=status, total=1)
                )
            )
        node.store.save_pulled(request.image_ref, request.containerd.namespace)
        yield image_pb2.ImageServicePullResponse(name=request.image_ref)


class LifecycleApi(Api):
    """machine.LifecycleService: refusals are errors, failures of the installer are exit codes."""

    SERVICE = "machine.LifecycleService"

    async def upgrade(
        self, request: lifecycle_pb2.LifecycleServiceUpgradeRequest
    ) -> AsyncIterator[lifecycle_pb2.LifecycleServiceUpgradeResponse]:
        with self._alone():
            if not self.node.store.installation().version:
                raise GRPCError(Status.FAILED_PRECONDITION, "machine is not installed")
            async for progress in self._write(request.source.image_name, "upgrade"):
                yield lifecycle_pb2.LifecycleServiceUpgradeResponse(progress=progress)

    async def install(
        self, request: lifecycle_pb2.LifecycleServiceInstallRequest
    ) -> AsyncIterator[lifecycle_pb2.LifecycleServiceInstallResponse]:
        with self._alone():
            if self.node.store.installation().version:
                raise GRPCError(Status.ALREADY_EXISTS, "machine is already installed")
            wanted = request.destination.disk
            if not wanted:
                raise GRPCError(Status.INVALID_ARGUMENT, "destination disk is required")
            if wanted not in {device.path for device in self.node.devices}:
                text = f"invalid disk path: lstat {wanted}: no such file or directory"
                raise GRPCError(Status.INVALID_ARGUMENT, text)
            async for progress in self._write(request.source.image_name, "installation"):
                yield lifecycle_pb2.LifecycleServiceInstallResponse(progress=progress)

    @contextlib.contextmanager
    def _alone(self) -> Iterator[None]:
        """One installation or upgrade at a time, for all clients."""
        if self.node.installing:
            text = "another installation/upgrade is already in progress"
            raise GRPCError(Status.FAILED_PRECONDITION, text)
        self.node.installing = True
        try:
            yield
        finally:
            self.node.installing = False

    async def _write(self, reference: str, what: str) -> AsyncIterator[_Progress]:
        node, timing = self.node, self.node.settings.timing
        if not reference:
            raise GRPCError(Status.INVALID_ARGUMENT, "installer image name is required")
        if reference not in node.store.pulled() or installer_image(reference) is None:
            text = (
                f'{what} failed: installer image "{reference}" not found in containerd store:'
                f' image "{reference}": not found'
            )
            raise GRPCError(Status.INTERNAL, text)
        yield _Progress(message=f"running Talos installer {reference}")
        await asyncio.sleep(timing.of(timing.install))
        code, reason = self._failure()
        if code:
            yield _Progress(message=f"Error: {reason}\n")
        else:
            stage_upgrade(node, reference)
            yield _Progress(message="installation complete\n")
        yield _Progress(exit_code=code)

    def _failure(self) -> tuple[int, str]:
        """Before 1.14 every failure of the installer is 1."""
        faults = self.node.faults
        code, reason = faults.install_exit, "injected by the lab"
        if faults.disk_full:
            code, reason = _NO_SPACE, "write /dev/sda: no space left on device"
        return (min(code, 1) if self.node.minor < _CODES_SINCE else code), reason

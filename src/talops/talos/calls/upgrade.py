"""Upgrades in both API variants: one call before 1.13; pull, install and reboot since."""

from __future__ import annotations

from contextlib import aclosing
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from talops.talos.answers import name_of
from talops.talos.errors import CallFailedError
from talops.talos.wire import common_pb2, image_pb2, lifecycle_pb2, machine_pb2
from talops.talos.wire.image_grpc import ImageServiceStub
from talops.talos.wire.lifecycle_grpc import LifecycleServiceStub

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable

    from talops.talos.calling import Caller

PULL_TIMEOUT = 900.0
INSTALL_TIMEOUT = 900.0

# What the installer's exit codes mean since Talos 1.14; before, every failure is 1.
EXITS = {
    2: "invalid input",
    3: "not supported",
    4: "this node's version or hardware does not allow it",
    5: "an image could not be pulled or its signature is wrong",
    6: "reading or writing failed",
    7: "writing the system failed",
}

# Where an installer image belongs: the namespace of Talos' own images.
_SYSTEM = common_pb2.ContainerdInstance(driver=common_pb2.CRI, namespace=common_pb2.NS_SYSTEM)
_PODS = common_pb2.ContainerdInstance(driver=common_pb2.CRI, namespace=common_pb2.NS_CRI)


class Dialect(Enum):
    """LEGACY checks etcd itself and reboots; LIFECYCLE leaves both to the caller."""

    LEGACY = "legacy"
    LIFECYCLE = "lifecycle"


def dialect_of(release: tuple[int, int]) -> Dialect:
    return Dialect.LIFECYCLE if release >= (1, 13) else Dialect.LEGACY


@dataclass(frozen=True)
class LayerProgress:
    layer: str
    status: str
    done: int
    total: int


class UpgradeCalls:
    def __init__(self, caller: Caller) -> None:
        self._caller = caller
        self._machine = caller.machine_service
        self._lifecycle = LifecycleServiceStub(caller.link)
        self._images = ImageServiceStub(caller.link)

    async def legacy(self, image: str, *, stage: bool = False, force: bool = False) -> str:
        """Upgrade and reboot in one call; returns the action's id.

        Talos has kept the data partition in every upgrade since 1.8; all that `preserve` still does
        is to skip the node's own check of etcd, so it is never set.
        """
        request = machine_pb2.UpgradeRequest(image=image, stage=stage, force=force)
        # The node pulls the image before it answers.
        got = await self._caller.one(self._machine.Upgrade, request, timeout=PULL_TIMEOUT)
        return str(got.actor_id)

    async def pull(
        self,
        image: str,
        progress: Callable[[LayerProgress], None] = lambda _: None,
        *,
        cri: bool = False,
    ) -> str:
        """Fetch an image of Talos, or of pods; the name it is stored under. Safe to repeat."""
        store = _PODS if cri else _SYSTEM
        request = image_pb2.ImageServicePullRequest(containerd=store, image_ref=image)
        name = ""
        stream = self._caller.stream(self._images.Pull, request, timeout=PULL_TIMEOUT)
        async with aclosing(stream):
            async for item in stream:
                if item.WhichOneof("response") == "name":
                    name = item.name
                else:
                    progress(_layer(item.pull_progress))
        if not name:
            raise CallFailedError(f"{image} was not pulled completely", where=self._caller.where)
        return name

    async def pull_legacy(self, image: str, *, cri: bool = False) -> None:
        """The same before Talos 1.13; an upgrade then uses what is in the store."""
        store = common_pb2.NS_CRI if cri else common_pb2.NS_SYSTEM
        request = machine_pb2.ImagePullRequest(namespace=store, reference=image)
        await self._caller.one(self._machine.ImagePull, request, safe=True, timeout=PULL_TIMEOUT)

    async def install(self, image: str) -> AsyncGenerator[str]:
        """Write the pulled image beside the running one; it boots with the next reboot."""
        request = lifecycle_pb2.LifecycleServiceUpgradeRequest(
            containerd=_SYSTEM, source=lifecycle_pb2.InstallArtifactsSource(image_name=image)
        )
        code: int | None = None
        stream = self._caller.stream(self._lifecycle.Upgrade, request, timeout=INSTALL_TIMEOUT)
        last = ""
        async with aclosing(stream):
            async for item in stream:
                if item.progress.WhichOneof("response") == "exit_code":
                    code = item.progress.exit_code
                for line in item.progress.message.splitlines():  # one message may hold several
                    last = line
                    yield line
        if code != 0:
            reason = "it ended without an exit code"
            if code is not None:
                reason = f"exit code {code}{f' ({EXITS[code]})' if code in EXITS else ''}"
            raise CallFailedError(
                f"the installer of {image} failed: {reason}; its last message: {last or 'nothing'}",
                where=self._caller.where,
                hint="the node still runs its old version; `talops talos dmesg` shows more",
            )


def _layer(item: image_pb2.ImageServicePullProgress) -> LayerProgress:
    status = name_of(image_pb2.ImageServicePullLayerProgress.Status, item.progress.status)
    return LayerProgress(
        item.layer_id,
        status.replace("_", " ").lower(),
        item.progress.offset,
        item.progress.total,
    )

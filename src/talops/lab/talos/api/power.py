"""Reboot, shutdown, reset, upgrade: requested here, carried out by the node's life cycle."""

from __future__ import annotations

import asyncio
import dataclasses
import re
from typing import TYPE_CHECKING

from grpclib.const import Status
from grpclib.exceptions import GRPCError

from talops.errors import TalopsError
from talops.lab.talos.call import Api
from talops.lab.talos.machine.boot import rolled_back
from talops.lab.talos.machine.failures import NextAction
from talops.lab.talos.machine.image import Image, installer_image
from talops.lab.talos.machine.life_cycle import stage_upgrade
from talops.talos.wire import machine_pb2

if TYPE_CHECKING:
    from talops.lab.talos.machine.node import Node

_PARTITIONS = {"STATE", "EPHEMERAL", "META", "EFI", "BIOS", "BOOT"}
_PROMOTABLE = {"ETCD", "CRI", "KUBELET", "LOG"}
_PROMOTABLE_SINCE = 14
_ANSWER_FIRST = 0.05  # the reply is sent before the listener closes
_TOO_FEW = 2


class PowerApi(Api):
    """machine.MachineService: Reboot, Shutdown, Reset, Rollback, Upgrade, Meta…"""

    SERVICE = "machine.MachineService"

    def _ask(self, action: NextAction) -> str:
        asyncio.get_running_loop().call_later(_ANSWER_FIRST, self.node.ask, action)
        return action.actor

    async def reboot(self, request: machine_pb2.RebootRequest) -> machine_pb2.Reboot:
        force = request.mode != machine_pb2.RebootRequest.DEFAULT
        actor = self._ask(NextAction("reboot", self.new_actor(), force=force))
        return machine_pb2.Reboot(actor_id=actor)

    async def shutdown(self, request: machine_pb2.ShutdownRequest) -> machine_pb2.Shutdown:
        actor = self._ask(NextAction("shutdown", self.new_actor(), force=request.force))
        return machine_pb2.Shutdown(actor_id=actor)

    async def reset(self, request: machine_pb2.ResetRequest) -> machine_pb2.Reset:
        labels = tuple(spec.label for spec in request.system_partitions_to_wipe if spec.wipe)
        for label in labels:
            more = _PROMOTABLE if self.node.minor >= _PROMOTABLE_SINCE else set()
            if label not in _PARTITIONS | more:
                text = f'failed to get volume status with label "{label}": resource does not exist'
                raise GRPCError(Status.UNKNOWN, text)
        known = {d.path for d in self.node.devices}
        for disk in request.user_disks_to_wipe:
            if disk not in known:
                text = f"reset user disk failed: device {disk} wasn't found"
                raise GRPCError(Status.UNKNOWN, text)
        action = NextAction(
            "reset",
            self.new_actor(),
            graceful=request.graceful,
            reboot=request.reboot,
            partitions=labels,
            system_disk=request.mode != machine_pb2.ResetRequest.USER_DISKS,
        )
        return machine_pb2.Reset(actor_id=self._ask(action))

    async def rollback(self, _: machine_pb2.RollbackRequest) -> machine_pb2.Rollback:
        installation = self.node.store.installation()
        if installation.staged:  # written, not booted: the running system is the previous one
            self.node.store.save(dataclasses.replace(installation, staged=""))
            self._ask(NextAction("reboot", self.new_actor()))
            return machine_pb2.Rollback()
        if not installation.previous:
            raise GRPCError(Status.FAILED_PRECONDITION, "no previous version to roll back to")
        self.node.store.save(rolled_back(installation))
        self._ask(NextAction("reboot", self.new_actor()))
        return machine_pb2.Rollback()

    async def upgrade(self, request: machine_pb2.UpgradeRequest) -> machine_pb2.Upgrade:
        node = self.node
        if not node.store.installation().version:
            raise GRPCError(Status.FAILED_PRECONDITION, "Talos is not installed")
        image = pullable(node, request.image)
        config = node.config
        if config is not None and config.control_plane and not (request.force or request.preserve):
            await _etcd_permits(node)
        actor = self.new_actor()
        if request.stage:
            stage_upgrade(node, request.image)
            self._ask(NextAction("reboot", actor))
        else:
            self._ask(NextAction("upgrade", actor, image=image))
        return machine_pb2.Upgrade(ack="Upgrade request received", actor_id=actor)

    async def meta_write(self, request: machine_pb2.MetaWriteRequest) -> machine_pb2.MetaWrite:
        old = self.node.store.installation()
        meta = {**old.meta, str(request.key): request.value.decode(errors="replace")}
        self._save_meta(meta)
        return machine_pb2.MetaWrite()

    async def meta_delete(self, request: machine_pb2.MetaDeleteRequest) -> machine_pb2.MetaDelete:
        old = self.node.store.installation()
        if str(request.key) not in old.meta:
            raise GRPCError(Status.NOT_FOUND, f"meta key {request.key} not found")
        meta = {k: v for k, v in old.meta.items() if k != str(request.key)}
        self._save_meta(meta)
        return machine_pb2.MetaDelete()

    def _save_meta(self, meta: dict[str, str]) -> None:
        old = self.node.store.installation()
        self.node.store.save(dataclasses.replace(old, meta=meta))
        self.node.publish()


def pullable(node: Node, reference: str) -> Image:
    """The content of an installer reference, or the error of a registry."""
    require_space(node, reference)
    image = installer_image(reference)
    if image is None or missing(node, reference):
        raise GRPCError(Status.NOT_FOUND, f"error pulling image: {reference}: not found")
    return image


def require_space(node: Node, reference: str) -> None:
    if node.faults.disk_full:
        text = f'failed to pull image "{reference}": no space left on device'
        raise GRPCError(Status.RESOURCE_EXHAUSTED, text)


def missing(node: Node, reference: str) -> bool:
    pattern = node.faults.image_missing
    return bool(pattern and re.search(pattern, reference))


async def _etcd_permits(node: Node) -> None:
    etcd = node.control_plane.etcd
    prefix = "error validating etcd for upgrade: "
    if etcd is None:
        raise GRPCError(Status.UNKNOWN, f"{prefix}etcd is not running")
    try:
        members = await etcd.client.members()
    except TalopsError as error:
        raise GRPCError(Status.UNKNOWN, prefix + error.what) from error
    if len(members) == _TOO_FEW:
        text = "etcd member count(2) is insufficient to maintain quorum if upgrade commences"
        raise GRPCError(Status.UNKNOWN, prefix + text)
    for member in members:
        address = (
            member.client_urls[0].split("/")[2].partition(":")[0] if member.client_urls else ""
        )
        client = etcd.peer(address)
        try:
            if not address or not await client.healthy():
                raise GRPCError(Status.UNKNOWN, f"{prefix}member {member.name} is not healthy")
        finally:
            await client.close()

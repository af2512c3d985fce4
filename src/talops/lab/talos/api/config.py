"""ApplyConfiguration and Bootstrap."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from grpclib.const import Status
from grpclib.exceptions import GRPCError

from talops.lab.talos.api.common import full_disk, require_control_plane
from talops.lab.talos.call import Api
from talops.lab.talos.cluster.control_plane import Bootstrap
from talops.lab.talos.config.changes import difference, needs_reboot, same
from talops.lab.talos.config.decoding import BadConfigError, decode
from talops.lab.talos.config.validation import validate
from talops.lab.talos.machine.failures import NextAction
from talops.lab.talos.rbac import ADMIN
from talops.talos.wire import machine_pb2

if TYPE_CHECKING:
    from talops.lab.talos.config.document import MachineConfig
    from talops.lab.talos.machine.node import Node

_Request = machine_pb2.ApplyConfigurationRequest
_TRY_SECONDS = 60.0
_NO_REBOOT_SINCE = 14  # since this minor version no change reboots a node
_INCOMPLETE = (
    "the applied machine configuration doesn't contain v1alpha1 config,"
    " did you mean to patch the machine config instead?"
)
_REBOOTING = (
    "configuration was already applied and node is rebooting,"
    " cannot apply more configuration changes until next reboot"
)
_DETAILS = {
    _Request.REBOOT: "Applied configuration with a reboot",
    _Request.NO_REBOOT: "Applied configuration without a reboot",
    _Request.TRY: "Applied configuration without a reboot",
    _Request.STAGED: "Staged configuration to be applied after the next reboot",
}


class ConfigApi(Api):
    """machine.MachineService: ApplyConfiguration and Bootstrap."""

    SERVICE = "machine.MachineService"

    async def apply_configuration(
        self, request: machine_pb2.ApplyConfigurationRequest
    ) -> machine_pb2.ApplyConfiguration:
        if self.node.reboots_for_config:
            raise GRPCError(Status.FAILED_PRECONDITION, _REBOOTING)
        if self.node.applying.locked():
            raise GRPCError(
                Status.FAILED_PRECONDITION, "another apply configuration is already in progress"
            )
        async with self.node.applying:
            return await self._apply(request)

    async def _apply(
        self, request: machine_pb2.ApplyConfigurationRequest
    ) -> machine_pb2.ApplyConfiguration:
        node = self.node
        if not node.in_maintenance and ADMIN not in self.call.roles:
            raise GRPCError(Status.PERMISSION_DENIED, "not authorized")
        if request.mode != _Request.TRY:
            node.keep_config()  # before anything is checked, and also for a dry run
        config, warnings = await asyncio.to_thread(_accept, node, bytes(request.data))
        if not config.complete and not node.in_maintenance:
            raise GRPCError(Status.INVALID_ARGUMENT, _INCOMPLETE)
        mode = _effective_mode(node, config, request.mode)
        details = _DETAILS[mode]
        if request.dry_run:
            changes = difference(node.config, config) or "No changes."
            text = f"Dry run summary:\n{details} (skipped in dry-run).\nConfig diff:\n\n{changes}"
            return machine_pb2.ApplyConfiguration(mode=mode, mode_details=text)
        full_disk(node, "/system/state/config.yaml")
        if mode == _Request.TRY:
            seconds = _seconds(request)
            details += (
                "\nThe config is applied in 'try' mode and will be automatically reverted back in"
                f" {seconds:g}s"
            )
            _revert_later(node, seconds)
        node.journal.kmsg(f"apply config request: mode {_Request.Mode.Name(mode).lower()}")
        await _put_to_use(node, config, mode)
        return machine_pb2.ApplyConfiguration(mode=mode, warnings=warnings, mode_details=details)

    async def bootstrap(self, request: machine_pb2.BootstrapRequest) -> machine_pb2.Bootstrap:
        """The checks run in the order of Talos; none reads other nodes."""
        node = self.node
        if not node.bootstrap_allowed or node.faults.refuse_bootstrap:
            raise GRPCError(Status.FAILED_PRECONDITION, "bootstrap is not available yet")
        config = require_control_plane(node, "bootstrap")
        if not config.authority("etcd", "ca").crt:
            text = "etcd is not configured, bootstrap is not possible"
            raise GRPCError(Status.INVALID_ARGUMENT, text)
        if not node.time_in_sync:
            raise GRPCError(Status.FAILED_PRECONDITION, "time is not in sync yet")
        if node.control_plane.has_data:
            raise GRPCError(Status.ALREADY_EXISTS, "etcd data directory is not empty")
        if request.recover_etcd and not node.store.recovery.exists():
            text = "no etcd snapshot was uploaded: stat /var/lib/etcd.snapshot: no such file"
            raise GRPCError(Status.FAILED_PRECONDITION, text)
        node.journal.kmsg("bootstrap request received")
        node.control_plane.found_cluster(
            Bootstrap(recover=request.recover_etcd, skip_hash_check=request.recover_skip_hash_check)
        )
        return machine_pb2.Bootstrap()


def _accept(node: Node, raw: bytes) -> tuple[MachineConfig, list[str]]:
    try:
        config = decode(raw, minor=node.minor)
        installed = bool(node.store.installation().version)
        booted_from_disk = any(disk.image is not None for disk in node.machine.disks)
        return config, validate(config, must_install=not (installed or booted_from_disk))
    except BadConfigError as error:
        raise GRPCError(Status.INVALID_ARGUMENT, str(error)) from error


def _effective_mode(
    node: Node, config: MachineConfig, asked: machine_pb2.ApplyConfigurationRequest.Mode
) -> machine_pb2.ApplyConfigurationRequest.Mode:
    if node.config is None or node.in_maintenance:
        return _Request.STAGED if asked == _Request.STAGED else _Request.NO_REBOOT
    if asked == _Request.REBOOT and node.minor >= _NO_REBOOT_SINCE:
        text = "the REBOOT mode is not supported, please use AUTO or NO_REBOOT modes instead"
        raise GRPCError(Status.UNIMPLEMENTED, text)
    if asked not in {_Request.AUTO, _Request.NO_REBOOT, _Request.TRY}:
        return asked
    reboot = node.minor < _NO_REBOOT_SINCE and needs_reboot(node.config, config)
    if asked == _Request.AUTO:
        return _Request.REBOOT if reboot else _Request.NO_REBOOT
    if reboot:
        text = "this config change can't be applied in immediate mode\ndiff:\n"
        raise GRPCError(Status.INVALID_ARGUMENT, text + difference(node.config, config))
    return asked


async def _put_to_use(
    node: Node, config: MachineConfig, mode: machine_pb2.ApplyConfigurationRequest.Mode
) -> None:
    if node.config is None or node.in_maintenance:
        if mode == _Request.STAGED:
            return
        node.config = config
        if not config.complete:  # kept until the rest is applied
            node.store.save_config(config.raw)
            node.publish()
            return
        # The answer must be sent before the listener closes.
        asyncio.get_running_loop().call_later(0.05, node.config_arrived.set)
        return
    if mode in {_Request.NO_REBOOT, _Request.STAGED, _Request.REBOOT}:
        node.store.save_config(config.raw)
        node.persisted = True
        node.publish()
    if mode in {_Request.NO_REBOOT, _Request.TRY} and not same(node.config, config):
        _switch(node, config)
    if mode == _Request.REBOOT:
        node.reboots_for_config = True
        asyncio.get_running_loop().call_later(0.05, node.ask, NextAction("reboot"))


def _switch(node: Node, config: MachineConfig) -> None:
    old, node.config = node.config, config
    asyncio.get_running_loop().call_later(0.1, node.judge_network)  # after the reply
    node.publish()
    node.announce()
    if old is not None and _of_kubelet(old) != _of_kubelet(config):
        node.registration.restart()
    else:
        node.registration.config_changed()
    names = ("ca", "acceptedCAs", "certSANs")
    if old is not None and any(old.machine.get(n) != config.machine.get(n) for n in names):
        loop = asyncio.get_running_loop()
        loop.call_later(0.05, lambda: node.keep(loop.create_task(node.apid.renew())))


def _of_kubelet(config: MachineConfig) -> tuple[object, bytes]:
    """What its service depends on: also the CAs that sign and accept its clients."""
    return config.machine.get("kubelet"), config.trusted_kubernetes_cas


def _revert_later(node: Node, seconds: float) -> None:
    """A second trial replaces the first one, and goes back to what the first one tried."""
    previous = node.config
    assert previous is not None
    node.keep_config()

    def revert() -> None:
        node.journal.kmsg("config rollback: the 'try' mode was not confirmed")
        _switch(node, previous)

    node.rollback = asyncio.get_running_loop().call_later(seconds, revert)


def _seconds(request: machine_pb2.ApplyConfigurationRequest) -> float:
    if request.HasField("try_mode_timeout"):
        return request.try_mode_timeout.ToMilliseconds() / 1000
    return _TRY_SECONDS

"""Configuration and power: apply, bootstrap, kubeconfig, reboot, shutdown, reset."""

from __future__ import annotations

import io
import tarfile
import zlib
from dataclasses import dataclass
from datetime import timedelta
from enum import IntEnum
from typing import TYPE_CHECKING

from google.protobuf.duration_pb2 import Duration
from google.protobuf.empty_pb2 import Empty

from talops.redaction import Secret
from talops.talos.answers import joined, reading
from talops.talos.errors import CallFailedError
from talops.talos.wire import machine_pb2 as pb

if TYPE_CHECKING:
    from talops.talos.calling import Caller

# Applying waits for the node's own validation and, in NO_REBOOT, for its controllers.
APPLY_TIMEOUT = 60.0
YEAR = timedelta(days=365)
LARGEST_KUBECONFIG = 1 << 20  # a small archive can contain much more


class ApplyMode(IntEnum):
    REBOOT = 0
    AUTO = 1
    NO_REBOOT = 2
    STAGED = 3
    TRY = 4


class RebootMode(IntEnum):
    DEFAULT = 0
    POWERCYCLE = 1
    FORCE = 2


class WipeMode(IntEnum):
    ALL = 0
    SYSTEM_DISK = 1
    USER_DISKS = 2


@dataclass(frozen=True)
class Applied:
    """The node's answer to a config: the mode that it chose, and its message."""

    mode: ApplyMode
    details: str
    warnings: tuple[str, ...]


@dataclass(frozen=True)
class ClientConfiguration:
    ca: str
    certificate: str
    key: Secret
    talosconfig: Secret


class MachineCalls:
    def __init__(self, caller: Caller) -> None:
        self._caller = caller
        self._stub = caller.machine_service

    async def apply_configuration(
        self,
        config: bytes | str,
        *,
        mode: ApplyMode = ApplyMode.AUTO,
        dry_run: bool = False,
        try_timeout: timedelta = timedelta(minutes=1),
    ) -> Applied:
        """Apply a machine config; applying the same one again changes nothing."""
        request = pb.ApplyConfigurationRequest(
            data=config.encode() if isinstance(config, str) else config,
            mode=mode.name,
            dry_run=dry_run,
        )
        if mode is ApplyMode.TRY:
            request.try_mode_timeout.FromTimedelta(try_timeout)
        got = await self._caller.one(
            self._stub.ApplyConfiguration, request, timeout=APPLY_TIMEOUT, safe=dry_run
        )
        with reading("the mode of an apply", self._caller.where):
            return Applied(ApplyMode(got.mode), got.mode_details, tuple(got.warnings))

    async def bootstrap(self, *, recover_etcd: bool = False, skip_hash_check: bool = False) -> None:
        """Start etcd as a new cluster. Never retried here: the node does not check other nodes."""
        request = pb.BootstrapRequest(
            recover_etcd=recover_etcd, recover_skip_hash_check=skip_hash_check
        )
        await self._caller.one(self._stub.Bootstrap, request)

    async def kubeconfig(self) -> Secret:
        """An admin kubeconfig, created by a control plane for this call."""
        items = await self._caller.collect(self._stub.Kubeconfig, Empty(), timeout=30.0)
        return Secret(_from_tar(joined(items, self._caller.where), self._caller.where))

    async def client_configuration(
        self, roles: tuple[str, ...] = ("os:admin",), *, ttl: timedelta = YEAR
    ) -> ClientConfiguration:
        """A new client certificate, signed by the node."""
        duration = Duration()
        duration.FromTimedelta(ttl)
        request = pb.GenerateClientConfigurationRequest(roles=roles, crt_ttl=duration)
        got = await self._caller.one(self._stub.GenerateClientConfiguration, request, safe=True)
        with reading("a client certificate", self._caller.where):
            return ClientConfiguration(
                ca=got.ca.decode(),
                certificate=got.crt.decode(),
                key=Secret(got.key.decode()),
                talosconfig=Secret(got.talosconfig.decode()),
            )

    async def reboot(self, mode: RebootMode = RebootMode.DEFAULT) -> str:
        """The id of the action, by which events can be followed."""
        request = pb.RebootRequest(mode=mode.name)
        got = await self._caller.one(self._stub.Reboot, request)
        return str(got.actor_id)

    async def shutdown(self, *, force: bool = False) -> str:
        got = await self._caller.one(self._stub.Shutdown, pb.ShutdownRequest(force=force))
        return str(got.actor_id)

    async def reset(
        self,
        *,
        graceful: bool = True,
        reboot: bool = False,
        mode: WipeMode = WipeMode.ALL,
        labels: tuple[str, ...] = (),
        disks: tuple[str, ...] = (),
    ) -> str:
        """Wipe the node: everything, or only the partitions in `labels` and the named `disks`."""
        request = pb.ResetRequest(
            graceful=graceful,
            reboot=reboot,
            mode=mode.name,
            system_partitions_to_wipe=[pb.ResetPartitionSpec(label=x, wipe=True) for x in labels],
            user_disks_to_wipe=disks,
        )
        got = await self._caller.one(self._stub.Reset, request)
        return str(got.actor_id)

    async def rollback(self) -> None:
        """Boot the installation from before the last upgrade."""
        await self._caller.one(self._stub.Rollback, pb.RollbackRequest())


def _from_tar(data: bytes, where: str) -> str:
    """The one file in an archive that Talos sends without its end marker."""
    try:
        with tarfile.open(fileobj=io.BytesIO(data), mode="r:gz") as archive:
            member = archive.next()  # reading the whole index would fail at the missing end
            file = archive.extractfile(member) if member else None
            return file.read(LARGEST_KUBECONFIG).decode() if file else ""
    except (tarfile.TarError, EOFError, OSError, zlib.error, ValueError, OverflowError) as error:
        raise CallFailedError(
            f"the kubeconfig archive cannot be read: {error}", where=where
        ) from error

"""Calls that describe the node: version, services, files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grpclib.const import Status
from grpclib.exceptions import GRPCError

from talops.lab.talos.call import Api
from talops.lab.talos.machine.files import ALL, archived, below, read_file, relative
from talops.talos.wire import common_pb2, machine_pb2

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from google.protobuf.empty_pb2 import Empty

    from talops.lab.talos.machine.files import Entry
    from talops.lab.talos.machine.services import Service


_CHUNK = 32768


class InfoApi(Api):
    """machine.MachineService: Version, Hostname, Service…, Read, Copy, List, DiskUsage."""

    SERVICE = "machine.MachineService"

    async def version(self, _: Empty) -> machine_pb2.Version:
        return machine_pb2.Version(
            version=machine_pb2.VersionInfo(
                tag=self.node.version,
                sha="00000000",
                built="",
                go_version="go1.26.0",
                os="linux",
                arch="amd64",
            ),
            platform=machine_pb2.PlatformInfo(name="nocloud", mode="cloud"),
            features=None if self.node.in_maintenance else machine_pb2.FeaturesInfo(rbac=True),
        )

    async def hostname(self, _: Empty) -> machine_pb2.Hostname:
        return machine_pb2.Hostname(hostname=self.node.hostname)

    async def service_list(self, _: Empty) -> machine_pb2.ServiceList:
        return machine_pb2.ServiceList(services=[s.info() for s in self.node.services.all()])

    def _service(self, name: str) -> Service:
        service = self.node.services.get(name)
        if service is None:
            raise GRPCError(Status.UNKNOWN, f'service "{name}" not defined')
        return service

    async def service_start(
        self, request: machine_pb2.ServiceStartRequest
    ) -> machine_pb2.ServiceStart:
        self._service(request.id)
        self.node.services.run(request.id)
        return machine_pb2.ServiceStart(resp=f'Service "{request.id}" started')

    async def service_stop(
        self, request: machine_pb2.ServiceStopRequest
    ) -> machine_pb2.ServiceStop:
        self._service(request.id)
        if request.id in {"machined", "apid", "containerd", "udevd"}:
            text = f'service "{request.id}" doesn\'t support stop operation via API'
            raise GRPCError(Status.UNKNOWN, text)
        self.node.services.set(request.id, "Finished", "Service finished successfully")
        return machine_pb2.ServiceStop(resp=f'Service "{request.id}" stopped')

    async def service_restart(
        self, request: machine_pb2.ServiceRestartRequest
    ) -> machine_pb2.ServiceRestart:
        self._service(request.id)
        self.node.services.set(request.id, "Stopping")
        self.node.services.run(request.id)
        return machine_pb2.ServiceRestart(resp=f'Service "{request.id}" restarted')

    async def read(self, request: machine_pb2.ReadRequest) -> AsyncIterator[common_pb2.Data]:
        content = read_file(self.node, request.path)
        if content is None:
            text = f"stat {request.path}: no such file or directory"
            raise GRPCError(Status.NOT_FOUND, text)
        for start in range(0, len(content), _CHUNK):
            yield common_pb2.Data(bytes=content[start : start + _CHUNK])

    async def copy(self, request: machine_pb2.CopyRequest) -> AsyncIterator[common_pb2.Data]:
        path = request.root_path
        if not path.startswith("/"):
            raise GRPCError(Status.UNKNOWN, f"path is not absolute {path}")
        packed = archived(self.node, path)
        if packed is None:
            text = f"lstat {path}: no such file or directory"
            yield common_pb2.Data(metadata=common_pb2.Metadata(error=text))
            return
        for start in range(0, len(packed), _CHUNK):
            yield common_pb2.Data(bytes=packed[start : start + _CHUNK])

    async def list(self, request: machine_pb2.ListRequest) -> AsyncIterator[machine_pb2.FileInfo]:
        root = request.root or "/"
        deep = request.recursion_depth if request.recursion_depth > 0 else ALL
        entries = below(self.node, root, deep if request.recurse else 1)
        if entries is None:
            raise GRPCError(Status.UNKNOWN, f"lstat {root}: no such file or directory")
        for entry in entries:
            if request.types and _type(entry) not in request.types:
                continue
            yield machine_pb2.FileInfo(
                name=entry.path,
                relative_name=relative(entry.path, entries[0].path),
                size=entry.size,
                mode=entry.mode,
                modified=int(self.node.booted_at),
                is_dir=entry.directory,
                link=entry.link,
            )

    async def disk_usage(
        self, request: machine_pb2.DiskUsageRequest
    ) -> AsyncIterator[machine_pb2.DiskUsageInfo]:
        """A directory includes everything below it."""
        for path in request.paths or ["/"]:
            entries = below(self.node, path, ALL)
            if entries is None:
                text = f"lstat {path}: no such file or directory"
                yield machine_pb2.DiskUsageInfo(name=path, error=text)
                continue
            root = entries[0].path
            for entry in entries:
                name = relative(entry.path, root)
                deep = 0 if name == "." else name.count("/") + 1
                shown = entry.directory or request.all or entry.path == root
                if not shown or deep > max(request.recursion_depth, 0):
                    continue
                inside = f"{entry.path.rstrip('/')}/"
                size = entry.size + sum(e.size for e in entries if e.path.startswith(inside))
                if size >= request.threshold:
                    yield machine_pb2.DiskUsageInfo(name=entry.path, relative_name=name, size=size)


def _type(entry: Entry) -> machine_pb2.ListRequest.Type:
    if entry.link:
        return machine_pb2.ListRequest.SYMLINK
    return machine_pb2.ListRequest.DIRECTORY if entry.directory else machine_pb2.ListRequest.REGULAR

"""Files of a node, read only."""

from __future__ import annotations

from contextlib import aclosing
from dataclasses import dataclass
from typing import TYPE_CHECKING

from google.protobuf.timestamp_pb2 import Timestamp

from talops.talos.answers import failure, joined, moment, reading
from talops.talos.errors import CallFailedError
from talops.talos.wire import machine_pb2

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator
    from datetime import datetime

    from talops.talos.calling import Caller

# What Go says of a path that does not exist (os.ErrNotExist).
MISSING = "no such file or directory"
BOOT_ID = "/proc/sys/kernel/random/boot_id"


@dataclass(frozen=True)
class File:
    """`error` says why a file could not be read; the other fields are then empty."""

    name: str
    size: int
    mode: int
    modified: datetime
    directory: bool
    link: str
    error: str


class FileCalls:
    def __init__(self, caller: Caller) -> None:
        self._caller = caller
        self._stub = caller.machine_service

    async def read(self, path: str, *, timeout: float = 60.0) -> bytes:  # noqa: ASYNC109
        request = machine_pb2.ReadRequest(path=path)
        items = await self._caller.collect(self._stub.Read, request, timeout=timeout)
        return joined(items, self._caller.where)

    async def pieces(self, path: str, *, patience: float) -> AsyncGenerator[bytes]:
        """A file of any size as it arrives; `patience` is the longest pause between two pieces."""
        request = machine_pb2.ReadRequest(path=path)
        stream = self._caller.stream(self._stub.Read, request)
        async with aclosing(self._caller.patient(stream, path, patience)) as items:
            async for item in items:
                if wrong := failure(item.metadata, self._caller.where):
                    raise wrong
                yield item.bytes

    async def boot_id(self) -> str:
        """Differs after every boot: it proves that a node rebooted."""
        content = await self.read(BOOT_ID)
        with reading("the boot id", self._caller.where):
            return content.decode().strip()

    async def exists(self, path: str) -> bool:
        """Whether its directory lists it; a missing directory contains nothing."""
        folder, _, name = path.rstrip("/").rpartition("/")
        try:
            listed = [found async for found in self.list(folder or "/")]
        except CallFailedError as error:
            if MISSING in error.what:
                return False
            raise
        for file in listed:
            if MISSING in file.error:
                return False
            if file.error:
                raise CallFailedError(file.error, where=self._caller.where)
            if file.name.rstrip("/").rpartition("/")[2] == name:
                return True
        return False

    async def list(self, root: str, *, depth: int = 1) -> AsyncGenerator[File]:
        request = machine_pb2.ListRequest(root=root, recurse=depth > 1, recursion_depth=depth)
        async with aclosing(self._caller.stream(self._stub.List, request)) as items:
            async for item in items:
                if error := failure(item.metadata, self._caller.where):
                    raise error
                yield File(
                    name=item.relative_name or item.name,
                    size=item.size,
                    mode=item.mode,
                    modified=moment(Timestamp(seconds=item.modified)),
                    directory=item.is_dir,
                    link=item.link,
                    error=item.error,
                )

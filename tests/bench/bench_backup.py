"""A backup of a large database: what encrypting, reading back and counting it costs.

The database is that of a real etcd. The plain way is `age` alone, reading the same bytes from the
same kind of pipe; talops also proves the snapshot and counts its objects, which `age` does not.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from tests.bench.figure import Figure
from tests.lab.talos.harness import claim_network

from talops.lab.kubernetes.etcd import EtcdMember, EtcdSettings
from talops.lab.kubernetes.pki import throwaway_authority
from talops.secrets.age import AgeKey
from talops.toolchain.install import Toolchain

if TYPE_CHECKING:
    from collections.abc import Iterator

MEGABYTES = int(os.environ.get("MEGABYTES", "500"))
VALUE, AT_ONCE = 10_000, 100
MEMORY = 150


def figures() -> Iterator[Figure]:
    with tempfile.TemporaryDirectory(dir="/dev/shm") as name:
        folder = Path(name)
        asyncio.run(_make(folder))
        key = AgeKey.generate()
        size = (folder / "snapshot").stat().st_size / 1e6
        yield Figure("snapshot", size, "MB")
        plain = _age(folder, key.recipient)
        yield Figure("age alone", size / plain, "MB/s")
        sealed, proven, memory, objects = _talops(folder, key)
        yield Figure("talops encrypts and checks the digest", size / sealed, "MB/s")
        yield Figure("the same, compared with age alone", plain / sealed, "", 0.8, at_least=True)
        yield Figure(f"talops reads it back and counts {objects} objects", proven, "s")
        yield Figure("memory of talops", memory, "MB", MEMORY)


async def _tool(name: str) -> Path:
    return (await Toolchain(os.environ, emit=lambda _: None).ensure(name)).path


async def _make(folder: Path) -> None:
    """A snapshot of an etcd that has so many megabytes."""
    network, holder = claim_network()
    settings = EtcdSettings(
        await _tool("etcd"), folder / "etcd", "cp-1", f"{network}.1", throwaway_authority()
    )
    member = EtcdMember(settings)
    await member.bootstrap()
    try:
        await member.wait_healthy(60.0)
        for first in range(0, MEGABYTES * 1_000_000 // VALUE, AT_ONCE):
            puts = [_put(number) for number in range(first, first + AT_ONCE)]
            await member.client._call("kv/txn", {"success": puts})
        with (folder / "snapshot").open("wb") as file:
            async for piece in member.client.snapshot():
                file.write(piece)
    finally:
        await member.close()
        await member.stop()
        holder.close()


def _put(number: int) -> dict[str, Any]:
    key = b"/registry/configmaps/default/n%d" % number
    coded = {"key": key, "value": os.urandom(VALUE)}
    return {"requestPut": {n: base64.b64encode(data).decode() for n, data in coded.items()}}


@contextlib.contextmanager
def _piped(folder: Path) -> Iterator[IO[bytes]]:
    """The snapshot as it arrives: in a pipe."""
    words: list[str | Path] = ["cat", folder / "snapshot"]
    with subprocess.Popen(words, stdout=subprocess.PIPE) as pipe:
        assert pipe.stdout
        yield pipe.stdout


def _age(folder: Path, recipient: str) -> float:
    program = asyncio.run(_tool("age"))
    started = time.perf_counter()
    with _piped(folder) as plain, (folder / "age").open("wb") as out:
        subprocess.run([program, "-r", recipient], stdin=plain, stdout=out, check=True)
    return time.perf_counter() - started


def _talops(folder: Path, key: AgeKey) -> tuple[float, float, float, int]:
    """In a process of its own, whose memory is that of nothing else."""
    words: list[str | Path] = [
        sys.executable,
        "-m",
        "tests.bench.sealing",
        folder / "talops",
        key.recipient,
    ]
    environment = {**os.environ, "KEY": key.identity.reveal()}
    with _piped(folder) as plain:
        done = subprocess.run(
            words, stdin=plain, stdout=subprocess.PIPE, check=True, env=environment
        )
    found = json.loads(done.stdout)
    return found["sealed"], found["proven"], found["memory"], found["objects"]

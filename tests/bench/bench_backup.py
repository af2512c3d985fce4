"""A backup of a large database: what encrypting, reading back and counting it costs.

The database is that of a real etcd. There are two plain ways to compare with: `etcdctl snapshot
save` from that etcd and then `age`, while talops gets the snapshot from a Talos node over the Talos
API; and `age` alone, both reading the same bytes from the same kind of pipe. talops also proves the
snapshot and counts its objects, which neither does.
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
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from tests.bench.bench_talos import helper
from tests.bench.etcdctl import etcdctl
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
# Each way is measured so often, and its best counts: what else runs delays all of them.
ROUNDS = 3
MEMORY = 150


def figures() -> Iterator[Figure]:
    with tempfile.TemporaryDirectory(dir="/dev/shm") as name:
        folder = Path(name)
        key = AgeKey.generate()
        plain = asyncio.run(_make(folder, key.recipient))
        size = (folder / "snapshot").stat().st_size / 1e6
        yield Figure("snapshot", size, "MB")
        yield Figure("etcdctl snapshot save, then age", size / plain, "MB/s")
        with helper("tests.bench.snapshot_node", str(folder / "snapshot")) as node:
            sent = _best(_talops(folder, key, NODE=json.dumps(node)) for _ in range(ROUNDS))
        yield Figure("talops, from a Talos node", size / sent.sealed, "MB/s")
        yield Figure(
            "the same, compared with etcdctl and age", plain / sent.sealed, "", 0.8, at_least=True
        )
        alone = min(_age(folder, key.recipient) for _ in range(ROUNDS))
        yield Figure("age alone", size / alone, "MB/s")
        piped = _best(_talops(folder, key) for _ in range(ROUNDS))
        yield Figure("talops encrypts and checks the digest", size / piped.sealed, "MB/s")
        yield Figure(
            "the same, compared with age alone", alone / piped.sealed, "", 0.8, at_least=True
        )
        counted = f"talops reads it back and counts {piped.objects} objects"
        yield Figure(counted, piped.proven, "s")
        yield Figure("memory of talops", max(sent.memory, piped.memory), "MB", MEMORY)


@dataclass(frozen=True)
class _Done:
    sealed: float
    proven: float
    memory: float
    objects: int


def _best(rounds: Iterator[_Done]) -> _Done:
    """The quickest; no round needed more memory."""
    done = list(rounds)
    quickest = min(done, key=lambda each: each.sealed)
    return replace(quickest, memory=max(each.memory for each in done))


async def _tool(name: str) -> Path:
    return (await Toolchain(os.environ, emit=lambda _: None).ensure(name)).path


async def _make(folder: Path, recipient: str) -> float:
    """A snapshot of an etcd that has so many megabytes; how long etcdctl and age take for it."""
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
        return await _plainly(folder, settings, recipient)
    finally:
        await member.close()
        await member.stop()
        holder.close()


async def _plainly(folder: Path, settings: EtcdSettings, recipient: str) -> float:
    pki, snapshot = settings.directory / "pki", folder / "snapshot"
    save: list[str | Path] = [
        *(await etcdctl(), "--endpoints", f"https://{settings.address}:2379"),
        *("--cacert", pki / "ca.crt", "--cert", pki / "server.crt", "--key", pki / "server.key"),
        *("snapshot", "save", snapshot),
    ]
    seal: list[str | Path] = [
        *(await _tool("age"), "-r", recipient, "-o", folder / "plain.age", snapshot)
    ]
    rounds = []
    for _ in range(ROUNDS):
        started = time.perf_counter()
        for words in (save, seal):
            await asyncio.to_thread(subprocess.run, words, check=True, capture_output=True)
        rounds.append(time.perf_counter() - started)
        (folder / "plain.age").unlink()
    return min(rounds)


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


def _talops(folder: Path, key: AgeKey, **environment: str) -> _Done:
    """In a process of its own, whose memory is that of nothing else."""
    target = folder / "talops"
    words: list[str | Path] = [
        *(sys.executable, "-m", "tests.bench.sealing", target, key.recipient)
    ]
    given = {**os.environ, "KEY": key.identity.reveal(), **environment}
    with _piped(folder) as plain:
        done = subprocess.run(words, stdin=plain, stdout=subprocess.PIPE, check=True, env=given)
    target.unlink()
    return _Done(**json.loads(done.stdout))

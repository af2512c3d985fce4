"""The real bpg/proxmox provider for tests: from the toolchain's mirror, or as a running server."""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import subprocess
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from talops.lab.tools import Provider
from talops.toolchain import mirror
from talops.toolchain.catalog import PROVIDER, catalog

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator, Mapping

VERSION = catalog()[PROVIDER].version
_REATTACH = re.compile(rb"TF_REATTACH_PROVIDERS='(.*)'")


def borrowed(directory: Path) -> Provider:
    """What a lab is given; `directory` is `tool("provider")`."""
    return Provider(VERSION, mirror.settings_text(directory, only=True), str(directory))


def settings_file(directory: Path, folder: Path) -> Path:
    """A CLI configuration for tests that run OpenTofu without a lab's own."""
    file = folder / "provider.tfrc"
    file.write_text(mirror.settings_text(directory, only=True), encoding="utf-8")
    return file


@dataclass(frozen=True)
class Programs:
    """An engine, and the mirror that it installs the provider from."""

    engine: Path
    mirror: Path


def installed(layer: Path) -> Path:
    """The provider that `init` put there."""
    (program,) = layer.glob(f".terraform/providers/*/*/*/*/*/{mirror.PROGRAM}_v*")
    return program


def unpacked(directory: Path, folder: Path) -> Path:
    """The provider in a mirror, before any `init`; `folder` takes it if it is packed."""
    found = mirror.package(directory, VERSION)
    assert found
    if found.is_dir():
        (program,) = found.glob(f"{mirror.PROGRAM}_v*")
        return program
    with zipfile.ZipFile(found) as archive:
        (name,) = (n for n in archive.namelist() if n.startswith(mirror.PROGRAM))
        program = Path(archive.extract(name, folder))
    program.chmod(0o755)
    return program


@contextlib.asynccontextmanager
async def attached(program: Path, environment: Mapping[str, str]) -> AsyncIterator[str]:
    """The provider as a server that runs already, for TF_REATTACH_PROVIDERS: most of a short run of
    OpenTofu is starting its provider, three times per plan. It reads `environment` once: one server
    per lab.
    """
    started = await asyncio.to_thread(_Server, program, environment)
    try:
        yield started.how
    finally:
        await asyncio.to_thread(started.close)


@contextlib.contextmanager
def served(program: Path, environment: Mapping[str, str]) -> Iterator[str]:
    """The same without an event loop."""
    started = _Server(program, environment)
    try:
        yield started.how
    finally:
        started.close()


class _Server:
    def __init__(self, program: Path, environment: Mapping[str, str]) -> None:
        self._process = subprocess.Popen(
            [program, "-debug"],
            env=dict(environment),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        try:
            (how,) = json.loads(self._announced()).values()
        except BaseException:
            self.close()
            raise
        self.how = json.dumps(dict.fromkeys(mirror.SOURCES, how))

    def _announced(self) -> bytes:
        assert self._process.stdout
        for line in self._process.stdout:
            if found := _REATTACH.search(line):
                return found[1]
        raise AssertionError("the provider ended before it said where it listens")

    def close(self) -> None:
        self._process.kill()
        self._process.communicate()

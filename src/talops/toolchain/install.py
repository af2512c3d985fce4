"""Find or install a tool: PATH, cache, official release, build; the first that works."""

from __future__ import annotations

import asyncio
import fcntl
import os
import shutil
import tempfile
import time
from contextlib import asynccontextmanager, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from talops.errors import TalopsError, ToolError, UnreachableError
from talops.toolchain import catalog, golang, locate, mirror, provider, release
from talops.toolchain.catalog import PROVIDER
from talops.toolchain.events import (
    ToolProgress,
    ToolReady,
    ToolSkipped,
    ToolStarted,
    ToolWaiting,
)
from talops.toolchain.gobuild import GoBuild
from talops.waiting import NotYet, Ready, Waiting, wait_for

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable, Iterator, Mapping

    from talops.events import Emit, Event
    from talops.toolchain.catalog import Tool
    from talops.toolchain.locate import FoundTool

# `go build` uses every core while it compiles and one while it links or downloads.
PARALLEL_BUILDS = 2
LOCK_SECONDS = 3600
WAYS = ("path", "cache", "release", "build")


def _ignore(_: Event) -> None:
    pass


class Toolchain:
    """Tools for one environment. `ways` restricts their sources; WAYS lists all."""

    def __init__(
        self,
        environment: Mapping[str, str],
        *,
        cache: Path | None = None,
        emit: Emit = _ignore,
        ways: tuple[str, ...] = WAYS,
        tools: Mapping[str, Tool] | None = None,
    ) -> None:
        self.environment = dict(environment)
        self.cache = cache or locate.default_cache(environment)
        self.emit = emit
        self.ways = ways
        self._tools = catalog.catalog() if tools is None else tools
        self._builds = asyncio.Semaphore(PARALLEL_BUILDS)
        self._modules: dict[str, asyncio.Lock] = {}
        self._offline: str | None = None

    async def find(self, name: str) -> FoundTool | None:
        """An installed tool; nothing is downloaded or built."""
        tool = self._tool(name)
        if "path" in self.ways:
            found = await self._given(tool)
            if found:
                return found
        return locate.cached(tool, self.cache) if "cache" in self.ways else None

    async def ensure(self, name: str) -> FoundTool:
        """The tool, downloaded or built if necessary; the error lists every failed source."""
        found = await self.find(name)
        if found is None:
            found = await self._install(self._tool(name))
        return found

    async def ensure_all(self, names: Iterable[str]) -> list[FoundTool]:
        return list(await asyncio.gather(*(self.ensure(name) for name in names)))

    async def _given(self, tool: Tool) -> FoundTool | None:
        if tool.name == PROVIDER:
            return provider.given(tool, self.environment, self.cache)
        return await locate.on_path(tool, self.environment)

    def _tool(self, name: str) -> Tool:
        if name not in self._tools:
            raise TalopsError(
                f"{name} is not a known tool", hint=f"choose from: {', '.join(self._tools)}"
            )
        return self._tools[name]

    async def _install(self, tool: Tool) -> FoundTool:
        async with self._lock(tool.name):
            found = locate.cached(tool, self.cache)
            if found:  # another process was quicker
                return found
            reasons: list[str] = []
            for way in ("release", "build"):
                found = await self._try(way, tool, reasons) if way in self.ways else None
                if found:
                    return found
        raise ToolError(
            f"cannot install {tool.name} {tool.version}: " + "; ".join(reasons),
            hint=f"{_advice(tool)}, or fix the reasons above and run: "
            f"talops tools install {tool.name}",
        )

    async def _try(self, way: str, tool: Tool, reasons: list[str]) -> FoundTool | None:
        started = time.monotonic()
        try:
            with self._staging(tool) as (staging, final):
                await (self._download if way == "release" else self._build)(tool, staging)
                _move_into_place(staging, final)
        except TalopsError as error:
            reasons.append(f"{way}: {error}")
            self.emit(ToolSkipped(tool.name, way, str(error)))
            return None
        found = locate.cached(tool, self.cache)
        assert found
        seconds = round(time.monotonic() - started, 1)
        self.emit(ToolReady(tool.name, tool.version, way, str(found.path), seconds))
        return replace(found, origin=way)

    async def _download(self, tool: Tool, staging: Path) -> None:
        if tool.name == PROVIDER:
            await provider.download(self, tool, staging)
            return
        where = release.current_platform()
        if not release.available(tool, where):
            raise ToolError(f"no pinned SHA-256 for {where}")
        if self._offline:
            raise UnreachableError(self._offline)
        self.emit(ToolStarted(tool.name, tool.version, "download"))
        try:
            content = await release.download(
                tool,
                where,
                self.cache / "downloads",
                lambda done, total: self.emit(ToolProgress(tool.name, "download", done, total)),
            )
        except UnreachableError as error:
            self._offline = error.what
            raise
        release.unpack(tool, where, content, staging)

    async def _build(self, tool: Tool, staging: Path) -> None:
        def report(done: int, total: int, detail: str) -> None:
            self.emit(ToolProgress(tool.name, "build", done, total, detail))

        # Programs of one module share most packages: the second uses what the first has compiled.
        module = self._modules.setdefault(tool.build.module, asyncio.Lock())
        async with module, self._builds:
            self.emit(ToolStarted(tool.name, tool.version, "build"))
            go = await self._go(tool)
            build = GoBuild(go, catalog.go_pin().version, self.environment, report)
            await build.compile(tool, staging)
        if tool.name == PROVIDER:
            mirror.lay(staging / tool.programs[0], staging, tool.version)

    async def _go(self, tool: Tool) -> Path:
        async with self._lock("go"):
            return await golang.find_go(
                catalog.go_pin(),
                self.cache,
                self.environment,
                lambda line: self.emit(ToolProgress(tool.name, "build", 0, 0, line)),
            )

    @contextmanager
    def _staging(self, tool: Tool) -> Iterator[tuple[Path, Path]]:
        """A private directory next to the final one, so that the move is one rename."""
        final = locate.directory(tool, self.cache)
        final.parent.mkdir(parents=True, exist_ok=True)
        staging = Path(tempfile.mkdtemp(dir=final.parent, prefix=".partial-"))
        try:
            yield staging, final
        finally:
            shutil.rmtree(staging, ignore_errors=True)

    @asynccontextmanager
    async def _lock(self, name: str) -> AsyncIterator[None]:
        """One process at a time installs a tool; the kernel releases the lock of a killed one."""
        path = self.cache / "tools" / f".{name}.lock"
        path.parent.mkdir(parents=True, exist_ok=True)
        handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            await wait_for(
                f"another process to finish installing {name}",
                lambda: _try_lock(handle),
                timeout=LOCK_SECONDS,
                hint=f"check for a hanging `talops tools install`; the lock is {path}",
                report=lambda waiting: self._waiting(name, waiting),
            )
            yield
        finally:
            os.close(handle)

    def _waiting(self, name: str, waiting: Waiting) -> None:
        self.emit(ToolWaiting(name, int(waiting.elapsed)))


async def _try_lock(handle: int) -> Ready[None] | NotYet:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return NotYet("locked")
    return Ready(None)


def _advice(tool: Tool) -> str:
    if tool.name == PROVIDER:
        return f"point {provider.MIRROR} at a mirror with {mirror.NAMESPACE} {tool.version}"
    return f"put {tool.name} {tool.accepts} on PATH"


def _move_into_place(staging: Path, final: Path) -> None:
    staging.chmod(0o755)
    if final.exists():  # an incomplete directory that `cached` rejected
        shutil.rmtree(final)
    staging.rename(final)

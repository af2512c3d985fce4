"""Installed tools: on PATH if the version fits, or in the cache."""

from __future__ import annotations

import asyncio
import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from talops.errors import ToolError
from talops.toolchain import mirror, process, version
from talops.toolchain.catalog import PROVIDER

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from talops.toolchain.catalog import Tool

ANSWER_SECONDS = 20


@dataclass(frozen=True)
class FoundTool:
    """A usable tool. `origin` is path, given, cache, release or build; a provider is found as the
    directory of its mirror.
    """

    name: str
    version: str
    path: Path
    origin: str

    def program(self, name: str) -> Path:
        """Another program of the same tool, such as age-keygen."""
        return self.path.with_name(name)


def default_cache(environment: Mapping[str, str]) -> Path:
    """The cache directory for downloaded and built tools."""
    base = environment.get("XDG_CACHE_HOME") or os.path.join(  # noqa: PTH118  (HOME may be unset)
        environment.get("HOME") or Path.home(), ".cache"
    )
    return Path(base) / "talops"


def cached(tool: Tool, cache: Path) -> FoundTool | None:
    folder = directory(tool, cache)
    if tool.name == PROVIDER:
        held = mirror.holds(folder, tool.version)
        return FoundTool(tool.name, tool.version, folder, "cache") if held else None
    if all(os.access(folder / program, os.X_OK) for program in tool.programs):
        return FoundTool(tool.name, tool.version, folder / tool.programs[0], "cache")
    return None


def directory(tool: Tool, cache: Path) -> Path:
    return cache / "tools" / tool.name / tool.version


async def on_path(tool: Tool, environment: Mapping[str, str]) -> FoundTool | None:
    """The first one on PATH, if all its programs exist and the version fits."""
    paths = [shutil.which(name, path=environment.get("PATH", "")) for name in tool.programs]
    if not paths[0] or not all(paths):
        return None
    if len({Path(found).parent for found in paths if found}) > 1:
        return None
    number = await ask(Path(paths[0]), tool.ask, environment)
    if number is None or number not in tool.accepts:
        return None
    return FoundTool(tool.name, version.show(number), Path(paths[0]), "path")


async def ask(
    program: Path, arguments: Sequence[str], environment: Mapping[str, str]
) -> tuple[int, int, int] | None:
    """The version that a program reports, or None."""
    env = {**environment, "CHECKPOINT_DISABLE": "1"}
    try:
        async with asyncio.timeout(ANSWER_SECONDS):
            return version.parse(await process.run([program, *arguments], env=env))
    except (ToolError, TimeoutError):
        return None

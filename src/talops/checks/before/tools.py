"""The programs that talops runs, in supported versions."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from talops.pipeline.checks import passed, warning
from talops.toolchain.engine import find_engine

if TYPE_CHECKING:
    from collections.abc import Mapping

    from talops.pipeline.checks import Finding
    from talops.toolchain.install import Toolchain
    from talops.toolchain.locate import FoundTool

NEEDED = ("sops",)


async def look(toolchain: Toolchain, *, encrypted: bool) -> list[Finding]:
    engine = find_engine(toolchain, encrypted=encrypted)
    found = await asyncio.gather(engine, *map(toolchain.find, NEEDED))
    return judge(dict(zip(("tofu", *NEEDED), found, strict=True)))


def judge(found: Mapping[str, FoundTool | None]) -> list[Finding]:
    """A missing program is downloaded or built on first use: a delay, not a failure."""
    return [
        passed(f"{tool.name} {tool.version}", str(tool.path))
        if tool
        else warning(f"{name} is not installed yet", hint=f"talops tools install {name}")
        for name, tool in found.items()
    ]

"""`talops rotate` as a process of its own, killed at one of its events."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from typing import TYPE_CHECKING, Any

from tests.lab.talos.site import ended, kill

if TYPE_CHECKING:
    from tests.rotation.conftest import Rotating


async def start(cluster: Rotating, *words: str) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "talops",
        *words,
        *("--yes", "-o", "json"),
        cwd=cluster.lab.root,
        env={**os.environ, "NO_COLOR": "1", "PYTHONDONTWRITEBYTECODE": "1"},
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        start_new_session=True,
    )


async def killed_at(cluster: Rotating, number: int, *words: str) -> list[dict[str, Any]]:
    """`kill -9` right after its event of this number; what it said until then. The lines of the
    plan count as one event: nothing happens between them.
    """
    process = await start(cluster, *words)
    assert process.stdout
    seen: list[dict[str, Any]] = []
    try:
        async for line in process.stdout:
            event = json.loads(line)
            if event["kind"] == "planned_change" and seen[-1]["kind"] == "planned_change":
                continue
            seen.append(event)
            if len(seen) >= number:
                break
    finally:
        kill(process)
        await process.wait()
    return seen


async def whole(cluster: Rotating, *words: str) -> None:
    """To its end."""
    process = await start(cluster, *words)
    code, said = await ended(process)
    assert code == 0, said


async def foreign_up(cluster: Rotating) -> None:
    """What a colleague with the same secrets runs in between."""
    process = await cluster.lab.talops()
    code, said = await ended(process)
    assert code == 0, said

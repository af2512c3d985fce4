"""Kill talops after one of its events, as a power cut would, and look at what is left."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from tests.e2e.conftest import Lab, kill_group

if TYPE_CHECKING:
    from collections.abc import Callable

Event = dict[str, Any]


async def up_until(lab: Lab, stop: Callable[[Event], bool], *words: str) -> list[Event]:
    """Run `up` and kill it as soon as `stop` says so; a tofu that it started lives on."""
    return await run_until(lab, stop, "up", *words)


async def run_until(lab: Lab, stop: Callable[[Event], bool], *words: str) -> list[Event]:
    """The same for any run."""
    process = await lab.start(*words, "--yes", "-o", "json")
    assert process.stdout
    seen: list[Event] = []
    try:
        async for line in process.stdout:
            lab.said.append(line.decode())
            event = json.loads(line)
            seen.append(event)
            if stop(event):
                break
    finally:
        kill_group(process)
        await process.wait()
    return seen

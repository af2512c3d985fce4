"""A child that is cancelled in the moment in which it is made."""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING

import pytest
from tests.child_processes import cancel_at_start, has_ended

from talops.toolchain import process

if TYPE_CHECKING:
    from pathlib import Path


async def test_what_the_child_started_ends_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A compiler holds its parent's pipes; nothing waits for it, and it does not continue alone."""
    pid_file = tmp_path / "pid"
    words = ["/bin/sh", "-c", f"sleep 600 & echo $! > {pid_file}; wait"]
    task = asyncio.create_task(process.run(words, env={"PATH": os.environ["PATH"]}))
    cancel_at_start(monkeypatch, pid_file, lambda: task)
    with pytest.raises(asyncio.CancelledError):
        await task
    monkeypatch.undo()
    assert await has_ended(int(await asyncio.to_thread(pid_file.read_text)))

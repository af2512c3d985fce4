"""Child processes: cancelled at the earliest moment, and ended or not."""

from __future__ import annotations

import asyncio
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    import pytest


def cancel_at_start(
    monkeypatch: pytest.MonkeyPatch, ready: Path, task: Callable[[], asyncio.Task[Any]]
) -> None:
    """Asyncio has the child by then, not yet its pipes; `ready` is what the child writes."""
    real = subprocess.Popen

    def popen(*args: Any, **options: Any) -> subprocess.Popen[bytes]:
        child = real(*args, **options)
        while not (ready.exists() and ready.stat().st_size):
            assert child.poll() is None
            time.sleep(0.01)
        task().cancel()
        return child

    monkeypatch.setattr(subprocess, "Popen", popen)


async def has_ended(pid: int, *, seconds: float = 5.0) -> bool:
    """Whether a program that was killed has ended; its new parent may take a moment."""
    for _ in range(round(seconds * 100)):
        if not _alive(pid):
            return True
        await asyncio.sleep(0.01)
    return False


def _alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="ascii").split()[2] != "Z"
    except FileNotFoundError:
        return False

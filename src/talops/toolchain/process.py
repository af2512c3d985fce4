"""Child processes of the toolchain: stream their lines, and kill them with the parent."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from collections import deque
from typing import TYPE_CHECKING, Any

from talops.environment import without_keys
from talops.errors import ToolError

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Mapping, Sequence
    from pathlib import Path

KEPT_LINES = 30
STREAM_LIMIT = 1 << 20


async def run(
    argv: Sequence[str | Path],
    *,
    env: Mapping[str, str],
    cwd: Path | None = None,
    on_line: Callable[[str], None] = lambda _: None,
) -> str:
    """Run to the end and return stdout; `on_line` gets stderr. ToolError has the last lines."""
    process = await _whole(start(argv, env=env, cwd=cwd))
    assert process.stdout
    assert process.stderr
    last: deque[str] = deque(maxlen=KEPT_LINES)
    try:
        output, _ = await asyncio.gather(
            process.stdout.read(), _lines(process.stderr, on_line, last)
        )
        code = await process.wait()
    except BaseException:
        await kill(process)
        raise
    if code:
        text = "\n".join(last) or output.decode(errors="replace")[-2000:]
        raise ToolError(f"{argv[0]} ended with {code}: {text.strip()}", where=str(cwd or ""))
    return output.decode(errors="replace")


async def _whole(
    start: Coroutine[Any, Any, asyncio.subprocess.Process],
) -> asyncio.subprocess.Process:
    """Shielded: if the start is cancelled, asyncio kills the child, but not its children."""
    starting = asyncio.ensure_future(start)
    try:
        return await asyncio.shield(starting)
    except asyncio.CancelledError:
        await kill(await starting)
        raise


async def start(
    argv: Sequence[str | Path], *, env: Mapping[str, str], cwd: Path | None = None
) -> asyncio.subprocess.Process:
    try:
        return await asyncio.create_subprocess_exec(
            *map(str, argv),
            env=without_keys(env),
            cwd=cwd,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            start_new_session=True,
            limit=STREAM_LIMIT,
        )
    except OSError as error:
        raise ToolError(f"cannot run: {error.strerror}", where=str(argv[0])) from error


async def kill(process: asyncio.subprocess.Process) -> None:
    """Kill the whole group: compilers started by `go build` must not outlive it."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    await process.wait()


async def _lines(
    stream: asyncio.StreamReader, on_line: Callable[[str], None], last: deque[str]
) -> None:
    async for raw in stream:
        line = raw.decode(errors="replace").rstrip()
        last.append(line)
        on_line(line)

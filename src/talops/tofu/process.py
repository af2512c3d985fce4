"""One child process: stream its output, and interrupt it so that it stops cleanly.

The child writes to an unnamed file instead of a pipe. If talops is killed, a broken pipe would
kill OpenTofu at its next line, with unsaved state; with a file it can finish, save its state and
release its lock.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import tempfile
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING

from talops.errors import ToolError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

POLL_SECONDS = 0.05


@dataclass(frozen=True)
class Finished:
    code: int
    output: str
    errors: str


async def run(
    argv: Sequence[str],
    *,
    cwd: Path,
    env: Mapping[str, str],
    on_line: Callable[[str], None] = lambda _: None,
    on_stop: Callable[[], None] = lambda: None,
) -> Finished:
    """Run to the end. The first cancel interrupts the child and waits; the second kills it."""
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        # Shielded: if the start is cancelled, asyncio kills the child.
        starting = asyncio.ensure_future(_start(argv, cwd, env, output, errors))
        reader = _Tail(output, on_line)
        finished = asyncio.ensure_future(_follow(starting, reader))
        try:
            process = await asyncio.shield(finished)
        except asyncio.CancelledError:
            on_stop()
            await _stop(await starting, finished)
            raise
        if (process.returncode or 0) < 0:  # killed: its providers must not continue without it
            _kill(process)
        return Finished(process.returncode or 0, reader.text(), _all(errors))


async def _start(
    argv: Sequence[str], cwd: Path, env: Mapping[str, str], output: IO[bytes], errors: IO[bytes]
) -> asyncio.subprocess.Process:
    try:
        return await asyncio.create_subprocess_exec(
            *argv,
            cwd=cwd,
            env=dict(env),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=output,
            stderr=errors,
            # Its own group: Ctrl-C in the terminal signals only talops, which forwards it once.
            start_new_session=True,
        )
    except OSError as error:
        raise ToolError(
            f"cannot run: {error.strerror}", where=argv[0], hint="talops tools install"
        ) from error


async def _follow(
    starting: asyncio.Future[asyncio.subprocess.Process], reader: _Tail
) -> asyncio.subprocess.Process:
    process = await starting
    ended = asyncio.ensure_future(process.wait())
    while not ended.done():
        reader.read()
        await asyncio.wait({ended}, timeout=POLL_SECONDS)
    reader.read()
    reader.close()
    return process


async def _stop(
    process: asyncio.subprocess.Process, finished: asyncio.Future[asyncio.subprocess.Process]
) -> None:
    """SIGINT to OpenTofu only: it stops its providers, saves the state and unlocks it."""
    with contextlib.suppress(ProcessLookupError):
        process.send_signal(signal.SIGINT)
    try:
        await asyncio.shield(finished)
    except asyncio.CancelledError:
        _kill(process)
        await finished
        raise


def _kill(process: asyncio.subprocess.Process) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


class _Tail:
    """The complete lines of a growing file, each once."""

    def __init__(self, file: IO[bytes], on_line: Callable[[str], None]) -> None:
        self._handle = file.fileno()
        self._on_line = on_line
        self._offset = 0
        self._rest = b""
        self._kept: list[bytes] = []

    def read(self) -> None:
        while chunk := os.pread(self._handle, 1 << 16, self._offset):
            self._offset += len(chunk)
            self._kept.append(chunk)
            *lines, self._rest = (self._rest + chunk).split(b"\n")
            for line in lines:
                self._on_line(line.decode(errors="replace"))

    def close(self) -> None:
        if self._rest:
            self._on_line(self._rest.decode(errors="replace"))
            self._rest = b""

    def text(self) -> str:
        return b"".join(self._kept).decode(errors="replace")


def _all(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode(errors="replace")

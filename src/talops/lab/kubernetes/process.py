"""A child process that never outlives the lab."""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import signal
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

_PR_SET_PDEATHSIG = 1
# Loaded before any fork: between fork and exec only a plain call is safe.
_LIBC = ctypes.CDLL(None)
# Servers of a lab live for a short time: collecting their garbage less often takes a quarter off
# the start of an API server.
_ENVIRONMENT = {"GOGC": "400"}


def _die_with_parent() -> None:
    _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


class Process:
    """One tool with its log file. `argv` holds paths and addresses, never a secret."""

    def __init__(self, argv: Sequence[str], *, log: Path) -> None:
        self._argv = list(argv)
        self._log = log
        self._child: asyncio.subprocess.Process | None = None

    @property
    def running(self) -> bool:
        return self._child is not None and self._child.returncode is None

    async def start(self) -> None:
        self._log.parent.mkdir(parents=True, exist_ok=True)
        with self._log.open("ab") as log:
            self._child = await asyncio.create_subprocess_exec(
                *self._argv,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=_ENVIRONMENT,
                preexec_fn=_die_with_parent,
            )

    async def wait(self) -> int:
        if self._child is None:
            return 0
        return await self._child.wait()

    async def stop(self, *, grace: float = 10.0) -> None:
        """Terminate it, and kill it after `grace` seconds; 0 is a power cut."""
        child = self._child
        if child is None or child.returncode is not None:
            return
        self.resume()
        with contextlib.suppress(ProcessLookupError):
            child.send_signal(signal.SIGTERM if grace else signal.SIGKILL)
        try:
            await asyncio.wait_for(child.wait(), grace or 10.0)
        except TimeoutError:
            with contextlib.suppress(ProcessLookupError):
                child.kill()
            await child.wait()

    def freeze(self) -> None:
        """Pause it without closing connections, like a node without a network."""
        self._signal(signal.SIGSTOP)

    def resume(self) -> None:
        self._signal(signal.SIGCONT)

    def last_words(self, lines: int = 5) -> str:
        if not self._log.exists():
            return ""
        return "\n".join(self._log.read_text(errors="replace").splitlines()[-lines:])

    def _signal(self, number: signal.Signals) -> None:
        if self._child is not None and self._child.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                self._child.send_signal(number)

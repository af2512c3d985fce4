"""A state server as users run it: a process of its own, on a port of its own."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from talops.statestore.stores import StoreAddress

_READY = "serving states at "
STOP_SECONDS = 60


@dataclass
class Running:
    process: subprocess.Popen[str]
    address: str
    # Read all the time: a server whose output is not read would stop at a full pipe.
    reader: threading.Thread
    said: list[str]
    directory: Path | None = None  # of the test that started it, for its certificate

    @property
    def port(self) -> int:
        return int(self.address.rsplit(":", 1)[1])

    def kill(self) -> None:
        """As the kernel or a power cut would end it."""
        self._end(signal.SIGKILL)

    def stop(self) -> str:
        """Ask it to drain; what it wrote is the result."""
        self._end(signal.SIGTERM)
        return "".join(self.said)

    def _end(self, how: signal.Signals) -> None:
        if self.process.poll() is None:
            self.process.send_signal(how)
        self.process.wait(STOP_SECONDS)
        self.reader.join(STOP_SECONDS)
        _output(self.process).close()


def start(
    store: StoreAddress,
    *arguments: str,
    listen: str = "127.0.0.1:0",
    environment: Mapping[str, str] | None = None,
) -> Running:
    words = [sys.executable, "-m", "talops", "state", "serve", "--listen", listen, *arguments]
    if "--users" not in arguments:
        words.append("--no-users")
    settings = {"TALOPS_STORE": store.url.reveal(), **store.options, **(environment or {})}
    process = subprocess.Popen(
        words, env={**os.environ, **settings}, stderr=subprocess.PIPE, text=True
    )
    said = ""
    for line in _output(process):
        said += line
        if line.startswith(_READY):
            rest: list[str] = []
            reader = threading.Thread(target=rest.extend, args=(_output(process),), daemon=True)
            reader.start()
            return Running(process, line.removeprefix(_READY).strip(), reader, rest)
    process.wait(STOP_SECONDS)
    _output(process).close()
    raise RuntimeError(f"the server did not start:\n{said}")


class RestartingServer:
    """A server that is killed and comes back at the same address."""

    def __init__(self, store: StoreAddress, *arguments: str) -> None:
        self._store = store
        self._arguments = arguments
        self._server = start(store, *arguments)
        self.port = self._server.port
        # A test that fails during `rise` must not leave the new process behind.
        self._turn = threading.Lock()

    def rise(self) -> None:
        with self._turn:
            self._server.kill()
            address = f"127.0.0.1:{self.port}"
            self._server = start(self._store, *self._arguments, listen=address)

    def stop(self) -> None:
        with self._turn:
            self._server.stop()


@contextlib.contextmanager
def running(
    store: StoreAddress, *arguments: str, environment: Mapping[str, str] | None = None
) -> Iterator[Running]:
    server = start(store, *arguments, environment=environment)
    try:
        yield server
    finally:
        server.stop()


def _output(process: subprocess.Popen[str]) -> IO[str]:
    assert process.stderr is not None
    return process.stderr

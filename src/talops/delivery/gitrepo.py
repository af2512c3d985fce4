"""The repository that Flux will read, accessed with the credentials that Flux will use."""

from __future__ import annotations

import asyncio
import contextlib
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from talops.errors import DeniedError, TalopsError, ToolError, UnreachableError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from talops.redaction import Secret

_DENIED = (
    "authentication failed",
    "permission denied",
    "could not read username",
    "terminal prompts disabled",
    "403",
    "host key verification failed",
)
_EMPTY_WORDS = (
    "fatal: Could not read from remote repository",
    "Please make sure you have the correct access rights",
    "and the repository exists",
)
_SECONDS = 60.0


@dataclass(frozen=True)
class GitAccess:
    """Address and credentials: a token with its user name, or a private key with known hosts."""

    url: str
    branch: str
    ca_file: Path | None = None
    username: str = "git"
    token: Secret | None = None
    key: Secret | None = None
    known_hosts: str = ""
    path: str = os.defpath  # Where git and ssh are searched.


@dataclass(frozen=True)
class Snapshot:
    """One commit: its ID and the names of all its files."""

    commit: str
    files: tuple[str, ...]
    _folder: Path
    _environment: dict[str, str]

    async def text(self, name: str) -> str:
        words = ["-C", str(self._folder), "show", f"{self.commit}:{name}"]
        code, out, err = await _git([], words, self._environment)
        if code:
            raise ToolError(f"cannot be read from Git: {err}", where=name)
        return out.decode(errors="replace")


@contextlib.asynccontextmanager
async def snapshot(access: GitAccess) -> AsyncIterator[Snapshot]:
    """The last commit of the branch, fetched into a temporary directory."""
    with tempfile.TemporaryDirectory(prefix="talops-git-") as folder:
        yield await _fetch(access, Path(folder))


async def _fetch(access: GitAccess, folder: Path) -> Snapshot:
    plain = {"PATH": access.path}
    await _git([], ["init", "--quiet", "--bare", str(folder)], plain)
    with _identified(access) as (settings, environment, descriptors):
        words = ["-C", str(folder), "fetch", "--quiet", "--depth=1", access.url]
        code, _, err = await _git(
            settings, [*words, f"refs/heads/{access.branch}"], environment, descriptors
        )
        if code and "couldn't find remote ref" in err.lower():
            raise await _no_branch(access, settings, environment, descriptors)
    if code:
        raise _refusal(access, err)
    _, out, _ = await _git([], ["-C", str(folder), "rev-parse", "FETCH_HEAD"], plain)
    commit = out.decode().strip()
    words = ["-C", str(folder), "ls-tree", "-r", "-z", "--name-only", commit]
    _, out, _ = await _git([], words, plain)
    names = [name.decode(errors="surrogateescape") for name in out.split(b"\0") if name]
    return Snapshot(commit, tuple(names), folder, plain)


async def _no_branch(
    access: GitAccess, settings: list[str], environment: dict[str, str], fds: tuple[int, ...]
) -> TalopsError:
    _, out, _ = await _git(settings, ["ls-remote", "--heads", access.url], environment, fds)
    have = [line.split("refs/heads/")[-1] for line in out.decode().splitlines()]
    listed = f"existing branches: {', '.join(have[:5])}" if have else "it has no branches"
    return TalopsError(
        f"the repository has no branch {access.branch}: {listed}",
        where=access.url,
        hint=f"git push origin HEAD:{access.branch}, or correct repository_branch",
    )


def _reason(err: str) -> str:
    """The last line with a reason: after a refusal by ssh, git adds three lines without one."""
    lines = [line.strip() for line in err.splitlines() if line.strip()]
    telling = [line for line in lines if not line.startswith(_EMPTY_WORDS)]
    return (telling or lines or ["no reason given"])[-1].removeprefix("fatal: ")


def _refusal(access: GitAccess, err: str) -> TalopsError:
    reason = _reason(err)
    if any(word in err.lower() for word in _DENIED):
        return DeniedError(
            f"the Git server denied access: {reason}",
            where=access.url,
            hint=_hint(access),
        )
    return UnreachableError(
        f"the Git repository does not answer: {reason}",
        where=access.url,
        hint="check repository_name and gitops.url in cluster.yaml, and the network",
    )


def _hint(access: GitAccess) -> str:
    if access.key:
        return "run talops gitops deploy-key and add the key to the repository with read access"
    return "run talops secrets set git_token with a token that can read this repository"


@contextlib.contextmanager
def _identified(access: GitAccess) -> Iterator[tuple[list[str], dict[str, str], tuple[int, ...]]]:
    """Settings for git, environment variables, and anonymous files in memory for the secrets."""
    settings = ["credential.helper="]
    environment = {"PATH": access.path}
    with contextlib.ExitStack() as stack:
        fds: tuple[int, ...] = ()
        if access.ca_file:
            settings.append(f"http.sslCAInfo={access.ca_file}")
        if access.token:
            text = f"username={access.username}\npassword={access.token.reveal()}\n"
            fds = (stack.enter_context(_in_memory(text)),)
            settings.append(f"credential.helper=!cat /proc/self/fd/{fds[0]};:")
        if access.key:
            environment["GIT_SSH_COMMAND"] = _ssh(
                stack.enter_context(_in_memory(access.key.reveal())),
                stack.enter_context(_in_memory(access.known_hosts)),
            )
        yield settings, environment, fds


def _ssh(key: int, hosts: int) -> str:
    """Ssh closes inherited descriptors, so it opens ours through our own entry in /proc."""
    here = f"/proc/{os.getpid()}/fd"
    return (
        f"ssh -F /dev/null -i {here}/{key} -o IdentitiesOnly=yes -o BatchMode=yes"
        f" -o UserKnownHostsFile={here}/{hosts} -o StrictHostKeyChecking=yes -o ConnectTimeout=10"
    )


@contextlib.contextmanager
def _in_memory(text: str) -> Iterator[int]:
    descriptor = os.memfd_create("talops-git")
    try:
        os.fchmod(descriptor, 0o600)
        os.write(descriptor, text.encode())
        yield descriptor
    finally:
        os.close(descriptor)


async def _git(
    settings: list[str],
    words: list[str],
    environment: dict[str, str],
    fds: tuple[int, ...] = (),
) -> tuple[int, bytes, str]:
    env = {
        "HOME": "/nonexistent",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_CONFIG_NOSYSTEM": "1",
        "LC_ALL": "C",
        **environment,
    }
    given = [part for setting in settings for part in ("-c", setting)]
    try:
        process = await asyncio.create_subprocess_exec(
            "git",
            *given,
            *words,
            env=env,
            pass_fds=fds,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            start_new_session=True,
        )
    except FileNotFoundError as error:
        raise ToolError("git is not installed", hint="install git") from error
    try:
        async with asyncio.timeout(_SECONDS):
            out, err = await process.communicate()
    except TimeoutError:
        process.kill()
        await process.wait()
        return 1, b"", f"no answer within {_SECONDS:.0f} s"
    except asyncio.CancelledError:
        process.kill()
        await process.wait()
        raise
    return process.returncode or 0, out, err.decode(errors="replace")

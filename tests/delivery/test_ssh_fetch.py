"""A deploy key in memory, used by the real ssh for a real fetch."""

from __future__ import annotations

import os
import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest
from tests.delivery.ssh_server import serving

from talops.delivery.gitrepo import GitAccess, snapshot
from talops.errors import DeniedError, TalopsError
from talops.gitops import deploykey

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not shutil.which("ssh"), reason="there is no ssh on this machine"),
]


def make_repository(folder: Path) -> str:
    """One commit on main; its id."""
    target = folder / "lab" / "home.git"
    work = folder / "work"
    who = {f"GIT_{a}_{b}": "x@y" for a in ("AUTHOR", "COMMITTER") for b in ("NAME", "EMAIL")}

    def git(*words: str) -> str:
        env = {"PATH": os.environ["PATH"], "HOME": str(folder), **who}
        done = subprocess.run(
            ["git", *words], env=env, check=True, timeout=30, capture_output=True, text=True
        )
        return done.stdout.strip()

    git("init", "--quiet", "--initial-branch=main", str(work))
    (work / "a.txt").write_text("hello\n")
    git("-C", str(work), "add", "--all")
    git("-C", str(work), "commit", "--quiet", "--message", "one")
    git("clone", "--quiet", "--bare", str(work), str(target))
    return git("-C", str(work), "rev-parse", "HEAD")


async def test_a_deploy_key_opens_the_repository(tmp_path: Path) -> None:
    """Allowed, it reads; a stranger's key, another host and another branch are distinguished."""
    commit = make_repository(tmp_path)
    key, stranger = deploykey.generate(), deploykey.generate()
    path = os.environ["PATH"]
    async with serving(tmp_path, deploykey.public_part(key, "talops")) as server:
        hosts = server.known_hosts
        ours = GitAccess(server.url, "main", key=key, known_hosts=hosts, path=path)
        async with snapshot(ours) as found:
            assert (found.commit, found.files) == (commit, ("a.txt",))
            assert await found.text("a.txt") == "hello\n"
        theirs = GitAccess(server.url, "main", key=stranger, known_hosts=hosts, path=path)
        await refused(theirs, DeniedError, "Permission denied")
        fields = deploykey.public_part(stranger, "").split()
        foreign = f"[127.0.0.1]:{server.port} {fields[0]} {fields[1]}\n"
        other_host = GitAccess(server.url, "main", key=key, known_hosts=foreign, path=path)
        await refused(other_host, DeniedError, "Host key verification failed")
        branch = GitAccess(server.url, "gone", key=key, known_hosts=hosts, path=path)
        await refused(branch, TalopsError, "no branch gone: existing branches: main")


async def refused(access: GitAccess, kind: type[TalopsError], words: str) -> None:
    with pytest.raises(kind) as error:
        async with snapshot(access):
            pass
    assert words in error.value.what
    assert error.value.where == access.url
    assert error.value.hint
    assert access.key
    assert access.key.reveal() not in str(error.value)

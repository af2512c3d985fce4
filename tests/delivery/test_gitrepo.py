"""Git is given secrets in memory only."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING

import pytest

from talops.delivery.gitrepo import GitAccess, snapshot
from talops.errors import UnreachableError
from talops.redaction import Secret

if TYPE_CHECKING:
    from pathlib import Path

SPY = """\
#!/bin/sh
for entry in /proc/$$/environ /proc/$$/cmdline; do tr '\\0' '\\n' <$entry; done >>{log}
exec {git} "$@"
"""


@pytest.mark.parametrize("kind", ["token", "key"])
async def test_no_secret_in_arguments_or_environment(tmp_path: Path, kind: str) -> None:
    """A git that writes down how it was called never sees the token or the key."""
    log, spy = tmp_path / "log", tmp_path / "bin" / "git"
    spy.parent.mkdir()
    spy.write_text(SPY.format(log=log, git=shutil.which("git")))
    spy.chmod(0o755)
    secret = Secret("a-secret-that-nobody-may-see")
    access = GitAccess(
        "ssh://git@127.0.0.1:9/x/y.git" if kind == "key" else "https://127.0.0.1:9/x/y.git",
        "main",
        token=secret if kind == "token" else None,
        key=secret if kind == "key" else None,
        path=f"{spy.parent}:{os.environ['PATH']}",
    )
    with pytest.raises(UnreachableError) as refused:
        async with snapshot(access):
            pass
    assert refused.value.where == access.url
    seen = log.read_text()
    assert "fetch" in seen
    assert secret.reveal() not in seen + str(refused.value)

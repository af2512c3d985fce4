"""Remove a path when this process ends, also after kill -9."""

from __future__ import annotations

import contextlib
import subprocess
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

# Waits for the end of its input, which comes when talops ends for any reason.
_GUARD = 'cat >/dev/null; rm -rf -- "$1"'


@contextlib.contextmanager
def removed_at_the_end(path: Path) -> Iterator[None]:
    """Remove `path` when the block or the process ends."""
    guard = subprocess.Popen(
        ["/bin/sh", "-c", _GUARD, "sh", str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    try:
        yield
    finally:
        assert guard.stdin
        guard.stdin.close()
        guard.wait()

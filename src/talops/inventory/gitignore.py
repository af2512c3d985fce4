"""Ask git whether it keeps a file out of commits."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

from talops.gitcommand import git

if TYPE_CHECKING:
    from pathlib import Path


def ignored_by_git(directory: Path, name: str) -> bool:
    """Also false without git: then nothing keeps the file out of a commit."""
    try:
        done = subprocess.run(
            git("-C", str(directory), "check-ignore", "--quiet", "--", name),
            capture_output=True,
            check=False,
            timeout=10,
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0

"""Secrets are allowed in cluster.yaml only if git ignores that file."""

from __future__ import annotations

import re
import subprocess
from typing import TYPE_CHECKING

from talops.inventory.files import CREDENTIALS, is_foreign
from talops.inventory.problems import Problem, Severity

if TYPE_CHECKING:
    from pathlib import Path

    from talops.inventory.source import Document

_SECRET_LOOKING = re.compile(r"(token|secret|password|passphrase|api_key)$")


def credential_problems(document: Document, directory: Path) -> list[Problem]:
    if not isinstance(document.data, dict):
        return []
    own = [key for key in CREDENTIALS if document.data.get(key)]
    foreign = [
        key
        for key, value in document.data.items()
        if is_foreign(key) and value and _SECRET_LOOKING.search(key)
    ]
    if not (own or foreign) or ignored_by_git(directory, document.file):
        return []
    problems = [
        Problem(
            "plain-credential",
            document.key((key,)),
            f"{key} is a secret, and git does not ignore {document.file}",
            "talops secrets import",
        )
        for key in own
    ]
    return problems + [
        Problem(
            "plain-credential",
            document.key((key,)),
            f"{key} looks like a secret, and git does not ignore {document.file}",
            f"keep it in a SOPS file, or add {document.file} to .gitignore",
            Severity.WARNING,
        )
        for key in foreign
    ]


def ignored_by_git(directory: Path, name: str) -> bool:
    """Also false without git: then nothing keeps the file out of a commit."""
    try:
        done = subprocess.run(
            ["git", "-C", str(directory), "check-ignore", "--quiet", "--", name],  # noqa: S607  (git comes from PATH by design)
            capture_output=True,
            check=False,
            timeout=10,
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0

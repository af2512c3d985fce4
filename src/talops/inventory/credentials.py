"""Secrets are allowed in cluster.yaml only if git ignores that file."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from talops.inventory.files import CREDENTIALS
from talops.inventory.gitignore import ignored_by_git
from talops.inventory.keys.foreign import is_foreign
from talops.problems import FileProblem, Severity

if TYPE_CHECKING:
    from pathlib import Path

    from talops.inventory.source import Document

_SECRET_LOOKING = re.compile(r"(token|secret|password|passphrase|api_key)$")


def credential_problems(document: Document, directory: Path) -> list[FileProblem]:
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
        FileProblem(
            "plain-credential",
            document.key((key,)),
            f"{key} is a secret, and git does not ignore {document.file}",
            "talops secrets import",
        )
        for key in own
    ]
    return problems + [
        FileProblem(
            "plain-credential",
            document.key((key,)),
            f"{key} looks like a secret, and git does not ignore {document.file}",
            f"keep it in a SOPS file, or add {document.file} to .gitignore",
            Severity.WARNING,
        )
        for key in foreign
    ]

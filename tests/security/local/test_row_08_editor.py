"""The user's editor sees the plain text of a file, and no key (row 8)."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from talops.errors import TalopsError, ToolError
from talops.inside import write
from talops.redaction import Secret
from talops.secrets.age import AgeKey, KeyRing
from talops.secrets.edit import edit
from talops.secrets.rules import rules_text
from talops.secrets.sops import Sops
from talops.secrets.vault import Vault

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

# Everything that a program inherits, and what its parent has open, except pipes and terminals.
CURIOUS = """#!/bin/sh
{
  env
  for pid in $$ $PPID; do
    cat /proc/$pid/environ /proc/$pid/cmdline
    for file in /proc/$pid/fd/*; do
      case $(readlink $file) in /memfd*|/tmp/*) cat $file ;; esac
    done
  done
  cat "${SOPS_AGE_KEY_FILE:-/dev/null}"
} </dev/null >SEEN 2>/dev/null
"""
APPEND = 'printf "b: added-value\\n" >>"$1"\n'


async def vault_of(sops: Path, root: Path) -> tuple[Vault, AgeKey]:
    key = AgeKey.generate()
    write(root, ".sops.yaml", rules_text([key.recipient]))
    vault = Vault.of(Sops(sops, root, KeyRing((key,))))
    await vault.write({"a": Secret("before-value")})
    return vault, key


def editor(folder: Path, body: str) -> dict[str, str]:
    script = folder / "editor"
    script.write_text(CURIOUS.replace("SEEN", str(folder / "seen")) + body)
    script.chmod(0o755)
    return {"EDITOR": str(script), "PATH": os.environ["PATH"], "SOPS_AGE_KEY": "AGE-SECRET-KEY-1X"}


@pytest.mark.slow
async def test_the_editor_gets_no_key(tool: Callable[[str], Path], tmp_path: Path) -> None:
    """By descriptor, environment, arguments or parent; equal values keep their ciphertext."""
    vault, key = await vault_of(tool("sops"), tmp_path)
    before = vault.file.read_text()
    assert await edit(vault.sops, vault.file, editor(tmp_path, APPEND))
    seen = (tmp_path / "seen").read_bytes()
    assert b"EDITOR=" in seen
    assert b"AGE-SECRET-KEY" not in seen
    assert key.identity.reveal().encode() not in seen
    values = {name: value.reveal() for name, value in (await vault.read()).items()}
    assert values == {"a": "before-value", "b": "added-value"}
    assert before.splitlines()[0] == vault.file.read_text().splitlines()[0]


@pytest.mark.slow
async def test_text_that_sops_refuses(tool: Callable[[str], Path], tmp_path: Path) -> None:
    """It can be opened again, and otherwise nothing changes; sops does not wait."""
    vault, _ = await vault_of(tool("sops"), tmp_path)
    before, asked = vault.file.read_bytes(), []

    async def again(wrong: str) -> bool:
        asked.append(wrong)
        return len(asked) < 2

    with pytest.raises(TalopsError, match="not valid YAML"):
        await edit(vault.sops, vault.file, editor(tmp_path, 'echo "a: [" >"$1"\n'), again)
    assert len(asked) == 2
    with pytest.raises(TalopsError):  # YAML, but no mapping at its top
        await edit(vault.sops, vault.file, editor(tmp_path, 'echo "- a" >"$1"\n'))
    with pytest.raises(ToolError, match="exit code 3"):
        await edit(vault.sops, vault.file, editor(tmp_path, "exit 3\n"))
    assert vault.file.read_bytes() == before

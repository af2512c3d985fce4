"""init and import, killed at every start of sops: nothing plain is left, nothing is lost."""

from __future__ import annotations

import asyncio
import shlex
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from talops.secrets.age import load_keys
from talops.secrets.importing import import_credentials
from talops.secrets.init import init
from talops.secrets.sops import Sops
from talops.secrets.vault import Vault

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = pytest.mark.slow

PLAIN = "the-only-plain-password"
STEPS = """
import asyncio, sys
from dataclasses import replace
from pathlib import Path
from talops.secrets.age import load_keys
from talops.secrets.importing import import_credentials
from talops.secrets.init import init
from talops.secrets.sops import Sops
from talops.secrets.vault import Vault

async def main(program, root):
    sops = Sops(program, root, load_keys(root / "age.key"))
    made = await init(sops, root / "age.key", hook=False)
    await import_credentials(Vault.of(made.sops), root / "cluster.yaml")

asyncio.run(main(Path(sys.argv[1]), Path(sys.argv[2])))
"""


def deadly_sops(path: Path, program: Path, number: int) -> Path:
    """Kills the process that started it at its n-th start."""
    count = shlex.quote(f"{path}.count")
    path.write_text(
        f"#!/bin/sh\necho x >>{count}\n"
        f'[ "$(wc -l <{count})" -eq {number} ] && kill -9 $PPID\n'
        f'exec {shlex.quote(str(program))} "$@"\n'
    )
    path.chmod(0o755)
    return path


def files_with(root: Path, text: str) -> list[str]:
    return sorted(p.name for p in root.rglob("*") if p.is_file() and text in p.read_text())


async def finish(program: Path, root: Path) -> str:
    made = await init(
        Sops(program, root, load_keys(root / "age.key")), root / "age.key", hook=False
    )
    await import_credentials(Vault.of(made.sops), root / "cluster.yaml")
    return (await Vault.of(made.sops).read())["tfstate_password"].reveal()


@pytest.mark.parametrize(
    "stride", [3, pytest.param(1, marks=pytest.mark.chaos)], ids=["sample", "everywhere"]
)
def test_nothing_plain_is_left_by_a_kill(
    tool: Callable[[str], Path], tmp_path: Path, stride: int
) -> None:
    """Until it is proven to be encrypted the password stays in cluster.yaml, and only there."""
    program, number = tool("sops"), 1 - stride
    while True:
        number += stride
        assert number < 40
        root = tmp_path / f"repo{number}"
        root.mkdir()
        (root / "cluster.yaml").write_text(f"cluster_name: a\ntfstate_password: {PLAIN}\n")
        deadly = deadly_sops(tmp_path / f"sops{number}", program, number)
        command = [sys.executable, "-c", STEPS, str(deadly), str(root)]
        code = subprocess.run(command, check=False, timeout=60).returncode
        if code == 0:
            break
        assert code == -9
        assert files_with(root, PLAIN) == ["cluster.yaml"]
        assert files_with(root, "AGE-SECRET-KEY-1") == ["age.key"]
        assert asyncio.run(finish(program, root)) == PLAIN
        assert files_with(root, PLAIN) == []
    assert number > 4

"""The real talosctl judges the lab's nodes: it understands every answer, and finds its rows.

It is built on demand, which takes minutes, unless one of the same minor version is on PATH.
"""

from __future__ import annotations

import asyncio
import base64
import json
import os
import re
from typing import TYPE_CHECKING

import pytest
from tests.lab.talos.talosctl_table import CLUSTER, POWER, RESOURCES, SYSTEM, Asked

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tests.lab.talos.harness import Lab

pytestmark = [pytest.mark.slow, pytest.mark.chaos, pytest.mark.timeout(1800)]
LIMIT = 120  # seconds; each command has its own notion of how long to wait


class Client:
    """Talosctl with a config that names the lab's control plane."""

    def __init__(self, program: Path, lab: Lab, folder: Path) -> None:
        self._program = program
        self._folder = folder
        self._places = {
            "cp": lab.address("cp-1"),
            "worker": lab.address("w-1"),
            "folder": str(folder),
        }
        pair = lab.files.client()
        context = {
            "endpoints": [self._places["cp"]],
            "nodes": [self._places["cp"]],
            **{
                name: base64.b64encode(pem).decode()
                for name, pem in (("ca", lab.files.os_ca.crt), ("crt", pair.crt), ("key", pair.key))
            },
        }
        config = {"context": "lab", "contexts": {"lab": context}}
        (folder / "talosconfig").write_text(json.dumps(config))

    async def run(self, words: str) -> tuple[int | None, str]:
        """Exit code, and what it said on both streams."""
        process = await asyncio.create_subprocess_exec(
            self._program,
            *words.format(**self._places).split(),
            cwd=self._folder,
            env={
                **os.environ,
                "HOME": str(self._folder),
                "TALOSCONFIG": str(self._folder / "talosconfig"),
            },
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
        )
        try:
            out, _ = await asyncio.wait_for(process.communicate(), LIMIT)
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        return process.returncode, out.decode(errors="replace")

    async def complaints(self, asked: Sequence[Asked]) -> list[str]:
        """What is wrong with the answers, command by command."""
        found = []
        for one in asked:
            code, said = await self.run(one.words)
            wrong = [] if code == one.code else [f"ended with {code}, not {one.code}"]
            patterns = [pattern.format(**self._places) for pattern in one.shows]
            wrong += [
                f"no line like {pattern!r}" for pattern in patterns if not _has(said, pattern)
            ]
            if one.lacks and _has(said, one.lacks):
                wrong.append(f"a line like {one.lacks!r}")
            if wrong:
                found.append(f"{one.words}: {'; '.join(wrong)}\n{said[-3000:]}")
        return found


def _has(said: str, pattern: str) -> bool:
    wanted = re.compile(pattern.replace(" ", " +"))
    return any(wanted.search(line.rstrip()) for line in said.splitlines())


async def test_real_talosctl_understands_the_nodes(
    unhurried_lab: Lab, talosctl: Path, tmp_path: Path
) -> None:
    """Every command of the table ends as against real nodes, with the rows that belong there."""
    unhurried_lab.files.endpoint = f"https://{unhurried_lab.network}.1:6443"  # the first machine
    await unhurried_lab.cluster("cp-1", "w-1")
    folder = tmp_path / "client"
    folder.mkdir()
    client = Client(talosctl, unhurried_lab, folder)
    config = unhurried_lab.node("cp-1").store.config()
    assert config
    (folder / "config.yaml").write_bytes(config)
    (folder / "patch.yaml").write_text("machine: {nodeLabels: {zone: b}}\n")
    assert not await client.complaints((*RESOURCES, *SYSTEM, *CLUSTER))
    assert not await client.complaints(POWER)

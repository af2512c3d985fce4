"""The tutorial, from the first command to the last one, on a clean HOME."""

from __future__ import annotations

import asyncio
import os
import re
import sys
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from tests.e2e.docs.page import DOCS, read
from tests.e2e.docs.session import opened

from talops.cli.lab.commands import HERE
from talops.lab.client import LabClient
from talops.lab.layout import Layout
from talops.lab.world import is_running
from talops.toolchain.locate import default_cache

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.e2e.docs.page import Page
    from tests.prepared import Preparer

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3600)]

ROOT = DOCS.parent
TUTORIAL = DOCS / "tutorial" / "first-cluster.md"
TOOLS = ("tofu", "provider", "sops", "age", "etcd", "kube-apiserver", "helm")


def ready(tmp_path: Path, tool: Callable[[str], Path]) -> Path:
    """What talops would download is in its cache."""
    for name in TOOLS:
        tool(name)
    (tools := tmp_path / "tools").mkdir()
    return tools


def clean(home: Path, tools: Path, dist: Path) -> dict[str, str]:
    """What a new user has. pip finds talops in `dist`, and everything else as usual."""
    kept = {name: text for name, text in os.environ.items() if name.startswith(("PIP_", "SSL_"))}
    return {
        **kept,
        "HOME": str(home),
        "PATH": f"{tools}:/usr/local/bin:/usr/bin:/bin",
        "XDG_CACHE_HOME": str(default_cache(os.environ).parent),
        "PIP_FIND_LINKS": f"{os.environ.get('PIP_FIND_LINKS', '')} {dist}".strip(),
        "LANG": "C.UTF-8",
        "TERM": "xterm",
        "COLUMNS": "100",
        "NO_COLOR": "1",
    }


async def follow(page: Page, tmp_path: Path, tools: Path, preparer: Preparer | None) -> None:
    """In a HOME that is empty; a lab that a failure leaves is stopped."""
    (home := tmp_path / "home").mkdir()
    environment = clean(home, tools, tmp_path / "dist")
    lab = LabClient(Layout(home / "home" / HERE))
    (session := tmp_path / "session").mkdir()
    async with opened(session, home, environment, preparer) as shell:
        try:
            await shell.follow(page)
        finally:
            if is_running(lab.layout):
                await asyncio.to_thread(lab.stop)


@pytest.mark.sampled("followed pages")
async def test_the_tutorial(
    tmp_path: Path, tool: Callable[[str], Path], preparer: Preparer
) -> None:
    """Typed as it is written, but for what the next test follows: the installation, and kubectl,
    which takes minutes to build.
    """
    page = read(TUTORIAL)
    kept = [c for c in page.commands if not re.search(r"talops/bin|~/talops|kubectl", c.text)]
    assert len(page.commands) - len(kept) == 5
    without = replace(page, commands=tuple(kept))
    await follow(without, tmp_path, ready(tmp_path, tool), preparer)


@pytest.mark.chaos
async def test_the_tutorial_from_its_installation(
    tmp_path: Path, tool: Callable[[str], Path]
) -> None:
    """The wheel of this source in a virtual environment of its own; everything is literal."""
    pip = ("-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir")
    build = await asyncio.create_subprocess_exec(
        sys.executable, *pip, str(tmp_path / "dist"), str(ROOT)
    )
    assert await build.wait() == 0
    tools = ready(tmp_path, tool)
    (tools / "kubectl").symlink_to(tool("kubectl"))
    await follow(read(TUTORIAL), tmp_path, tools, None)


def test_everything_else_is_typed() -> None:
    """Only what needs a real host is left out."""
    page = read(TUTORIAL)
    assert len(page.commands) > 30
    assert {c.text.split()[0] for c in page.elsewhere} == {"export", "scp"}

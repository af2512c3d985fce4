"""Scenes of a hand-over."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.lab.flux.site import Scene

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from pathlib import Path


@pytest.fixture
async def scene(tmp_path: Path, tool: Callable[[str], Path]) -> AsyncIterator[Scene]:
    """A running control plane and an empty repository."""
    for name in ("etcd", "kube-apiserver", "sops"):
        tool(name)  # before any time limit of a test counts
    made = Scene(tmp_path, tool)
    try:
        await made.start("cp-1")
        yield made
    finally:
        await made.close()

"""Labs for the tests of Talos nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.lab_talos.harness import Lab

from talops.lab.talos.settings import Binaries

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable
    from pathlib import Path


@pytest.fixture
def no_binaries(tmp_path: Path) -> Binaries:
    """For nodes that never become a control plane's member."""
    return Binaries(tmp_path / "etcd", tmp_path / "kube-apiserver")


@pytest.fixture
async def lab(tmp_path: Path, no_binaries: Binaries) -> AsyncIterator[Lab]:
    """Nodes up to, but not including, Kubernetes."""
    made = Lab(tmp_path, no_binaries)
    try:
        yield made
    finally:
        await made.close()


@pytest.fixture
async def real_lab(tmp_path: Path, tool: Callable[[str], Path]) -> AsyncIterator[Lab]:
    """Nodes with real control planes."""
    made = Lab(tmp_path, Binaries(tool("etcd"), tool("kube-apiserver")))
    try:
        yield made
    finally:
        await made.close()

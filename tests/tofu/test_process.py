"""One child process: output, Ctrl-C once and twice, and talops killed."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import textwrap
import time
from typing import TYPE_CHECKING

import pytest
from tests.child_processes import cancel_at_start, has_ended

from talops.errors import ToolError
from talops.tofu import process

if TYPE_CHECKING:
    from pathlib import Path

ENV = {"PATH": os.environ["PATH"]}


def script(tmp_path: Path, text: str) -> list[str]:
    path = tmp_path / "child.py"
    path.write_text(textwrap.dedent(text), encoding="utf-8")
    return [sys.executable, str(path)]


def exists(path: Path) -> bool:
    return path.exists()


async def until(path: Path) -> None:
    for _ in range(1000):
        if exists(path):
            return
        await asyncio.sleep(0.01)
    raise AssertionError(path)


async def test_lines_and_result(tmp_path: Path) -> None:
    """Lines arrive one by one and whole; stderr and exit code are kept."""
    child = script(
        tmp_path,
        """
        import sys
        sys.stdout.write("one\\ntw"); sys.stdout.flush()
        sys.stdout.write("o\\nthree"); sys.stderr.write("oh"); sys.exit(3)
        """,
    )
    seen: list[str] = []
    done = await process.run(child, cwd=tmp_path, env=ENV, on_line=seen.append)
    assert seen == ["one", "two", "three"]
    assert (done.code, done.output, done.errors) == (3, "one\ntwo\nthree", "oh")


async def test_only_the_given_environment(tmp_path: Path) -> None:
    """The child sees what it is given and nothing of ours."""
    child = script(tmp_path, "import os; print(sorted(os.environ))")
    done = await process.run(child, cwd=tmp_path, env={"A": "1"})
    assert "'A'" in done.output
    assert "HOME" not in done.output


async def test_missing_program(tmp_path: Path) -> None:
    """A missing program is an error with a hint."""
    with pytest.raises(ToolError, match="cannot run"):
        await process.run(["/nowhere/tofu"], cwd=tmp_path, env=ENV)


POLITE = """
    import signal, sys, time, pathlib
    def stop(*_):
        print("saving"); pathlib.Path("saved").touch(); sys.exit(1)
    signal.signal(signal.SIGINT, stop)
    pathlib.Path("ready").write_text("yes")
    time.sleep(60)
"""
STUBBORN = """
    import signal, subprocess, sys, time, pathlib
    signal.signal(signal.SIGINT, lambda *_: pathlib.Path("asked").touch())
    helper = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    pathlib.Path("helper").write_text(str(helper.pid))
    pathlib.Path("ready").touch()
    while True:
        time.sleep(1)
"""


async def test_interrupt_once(tmp_path: Path) -> None:
    """The first interrupt lets the child save its work, and waits for it."""
    seen: list[str] = []
    child = script(tmp_path, POLITE)
    task = asyncio.create_task(process.run(child, cwd=tmp_path, env=ENV, on_line=seen.append))
    await until(tmp_path / "ready")
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert exists(tmp_path / "saved")
    assert seen == ["saving"]


async def test_interrupt_while_it_starts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However early the first interrupt comes, the child is asked to stop and not killed."""
    child = script(tmp_path, POLITE)
    task = asyncio.create_task(process.run(child, cwd=tmp_path, env=ENV))
    cancel_at_start(monkeypatch, tmp_path / "ready", lambda: task)
    with pytest.raises(asyncio.CancelledError):
        await task
    assert exists(tmp_path / "saved")


async def test_interrupt_twice(tmp_path: Path) -> None:
    """The second interrupt kills the child and its children."""
    task = asyncio.create_task(process.run(script(tmp_path, STUBBORN), cwd=tmp_path, env=ENV))
    await until(tmp_path / "ready")
    task.cancel()
    await until(tmp_path / "asked")
    assert not task.done()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await has_ended(int(_text(tmp_path / "helper")))


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def test_killed_talops_lets_the_child_finish(tmp_path: Path) -> None:
    """Kill -9 of talops does not stop OpenTofu half-way: it can still write and save."""
    script(
        tmp_path,
        """
        import pathlib, sys, time
        pathlib.Path("ready").touch()
        for i in range(40):
            print("line", i, flush=True)
            time.sleep(0.02)
        pathlib.Path("saved").touch()
        """,
    )
    parent = textwrap.dedent(
        f"""
        import asyncio, pathlib, sys
        from talops.tofu import process
        here = pathlib.Path({str(tmp_path)!r})
        asyncio.run(process.run([sys.executable, str(here / "child.py")], cwd=here, env={{}}))
        """
    )
    talops = subprocess.Popen([sys.executable, "-c", parent])
    deadline = time.monotonic() + 30
    while not (tmp_path / "ready").exists():
        assert time.monotonic() < deadline
        time.sleep(0.01)
    talops.send_signal(signal.SIGKILL)
    talops.wait()
    while not (tmp_path / "saved").exists():
        assert time.monotonic() < deadline
        time.sleep(0.01)

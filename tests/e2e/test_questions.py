"""talops on a terminal, with a person who does not say yes."""

from __future__ import annotations

import asyncio
import contextlib
import os
import pty
import sys
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

MakeLab = Callable[..., contextlib.AbstractAsyncContextManager[Any]]
CTRL_C = b"\x03"


@contextlib.asynccontextmanager
async def on_terminal(lab: Any, *words: str) -> AsyncIterator[tuple[Any, int]]:
    """The process and the other end of its terminal."""
    person, terminal = pty.openpty()
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-c",
        # A session of its own, whose terminal this is: only so does Ctrl-C become a signal.
        "import fcntl, os, sys, termios; os.setsid(); fcntl.ioctl(0, termios.TIOCSCTTY, 0);"
        "os.execv(sys.executable, [sys.executable, '-m', 'talops', *sys.argv[1:]])",
        *words,
        cwd=lab.root,
        env={**os.environ, **lab.environment, "COLUMNS": "200"},
        stdin=terminal,
        stdout=terminal,
        stderr=terminal,
    )
    os.close(terminal)
    try:
        yield process, person
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()
        os.close(person)


async def read(person: int, until: str | None = None) -> str:
    """All that it says, up to a word or to its end."""
    said = ""
    with contextlib.suppress(OSError):  # the other end is closed
        while until is None or until not in said:
            said += (await asyncio.to_thread(os.read, person, 4096)).decode(errors="replace")
    assert until is None or until in said, said
    return said


def files(lab: Any) -> dict[str, bytes]:
    """All but the record of runs."""
    every = [path for path in lab.root.rglob("*") if path.is_file()]
    return {str(p): p.read_bytes() for p in every if ".talops" not in p.parts}


@pytest.mark.parametrize(
    ("keys", "code", "word"),
    [(CTRL_C, 130, "to continue"), (b"n\n", 1, "nothing was changed")],
)
async def test_no_is_an_answer(make_lab: MakeLab, keys: bytes, code: int, word: str) -> None:
    """One key ends it, nothing has changed, and no traceback is left on the screen."""
    async with (
        make_lab(talos=False, sealed=True, as_users=True) as lab,
        on_terminal(lab, "up", "--until", "configure") as (up, person),
    ):
        before = files(lab)
        await read(person, until="Apply these changes?")
        os.write(person, keys)
        said = await read(person)
        assert await up.wait() == code, said
        assert word in said.lower()
        assert "Traceback" not in said
        assert files(lab) == before

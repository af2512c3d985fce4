"""Questions on a terminal: what is typed counts, and Ctrl-C works as everywhere else."""

from __future__ import annotations

import asyncio
import contextlib
import io
import os
import pty
import sys
from collections.abc import Callable, Iterator

import pytest

from talops.cli.terminal import Terminal, typed
from talops.errors import InterruptedRunError, TalopsError
from talops.pipeline.interrupt import Interruption
from talops.pipeline.planning import Plan
from talops.pipeline.run import Consent
from talops.views.lines import PlainLines

Type = Callable[[bytes], None]
CTRL_D = b"\x04"
HINT = "talops up --yes"


@pytest.fixture
def keyboard(monkeypatch: pytest.MonkeyPatch) -> Iterator[Type]:
    """Types on the terminal that is this process' standard input."""
    person, terminal = pty.openpty()
    with os.fdopen(terminal) as stdin:
        monkeypatch.setattr(sys, "stdin", stdin)
        yield lambda keys: _all(os.write(person, keys), keys)
    os.close(person)


def _all(written: int, keys: bytes) -> None:
    assert written == len(keys)


async def _asked(capsys: pytest.CaptureFixture[str]) -> None:
    """Until the question is on the terminal; reading begins in the same step of the loop."""
    while not capsys.readouterr().err:  # noqa: ASYNC110
        await asyncio.sleep(0)


async def _agreed() -> bool:
    return await Terminal(PlainLines(io.StringIO())).confirm(Plan(()), Consent(HINT))


async def _named() -> bool:
    consent = Consent("talops down --yes --cluster demo", name="demo", what="destroys demo")
    return await Terminal(PlainLines(io.StringIO())).confirm(Plan(()), consent)


@pytest.mark.parametrize(
    ("keys", "answer"),
    [
        (b"y\n", True),
        (b"YES\n", True),
        (b"\n", False),
        (b"n\n", False),
        (CTRL_D, False),
        (b"what?\ny\n", True),
        (b"ye" + CTRL_D + b"s\n", True),
    ],
)
async def test_yes_or_no(keyboard: Type, keys: bytes, answer: bool) -> None:
    """Whatever is not clear is asked again; no answer is no."""
    keyboard(keys)
    assert await _agreed() is answer


@pytest.mark.parametrize(("keys", "answer"), [(b"demo\n", True), (b"y\n", False), (b"\n", False)])
async def test_the_name_is_typed(keyboard: Type, keys: bytes, answer: bool) -> None:
    """Yes is not enough where something is destroyed permanently."""
    keyboard(keys)
    assert await _named() is answer


async def test_interrupted_question(keyboard: Type, capsys: pytest.CaptureFixture[str]) -> None:
    """It ends at once, and no thread keeps reading from the terminal."""
    interruption = Interruption()
    asked = asyncio.ensure_future(interruption.step(typed("Apply? "), atomic=False))
    await _asked(capsys)
    interruption.request()
    with pytest.raises(InterruptedRunError):
        await asked
    keyboard(b"y\n")
    assert await asyncio.to_thread(sys.stdin.readline) == "y\n"


async def test_closed_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A closed terminal is not a yes."""
    person, terminal = pty.openpty()
    with os.fdopen(terminal) as stdin, contextlib.closing(os.fdopen(person, "wb")) as keys:
        monkeypatch.setattr(sys, "stdin", stdin)
        asked = asyncio.ensure_future(_agreed())
        await _asked(capsys)
        keys.close()
        assert await asked is False


async def test_without_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a terminal the hint says what to type instead."""
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    for ask in (_agreed, _named):
        with pytest.raises(TalopsError, match="confirmation required") as refused:
            await ask()
        assert "--yes" in str(refused.value.hint)

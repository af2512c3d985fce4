"""A shell in which the commands of a page are typed one after the other, as a reader does it.

One bash for a page: `cd`, `export` and `eval` last. `talops` is a fork of tests/prepared.py. A
command with questions gets a terminal and its answers; every other one has no input.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import signal
import stat
import sys
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from tests.e2e.docs import page as pages
from tests.lab.talos.harness import until

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

    from tests.e2e.docs.page import Command, Page
    from tests.prepared import Preparer

SHIM = Path(__file__).with_name("shim.py")
ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b[()][A-Z0-9]|\r")
# Used up by failures only.
LONGEST_SECONDS = 600.0
# Commands come as NUL-terminated texts; the exit code of each is returned.
LOOP = """
while IFS= read -r -d '' -u {reads} command; do
  eval "$command"
  printf '%s\\n' "$?" >&{answered}
done
"""
TERMINAL = "{{ {command}\n}} <>{path} >&0 2>&0"
PLAIN = "{{ {command}\n}} </dev/null >{file} 2>&1"


class PageError(AssertionError):
    """What the page says is not what happens."""


@dataclass
class Session:
    """`told` is what all commands printed, for a failure."""

    process: asyncio.subprocess.Process
    commands: int
    results: asyncio.StreamReader
    folder: Path
    told: list[str] = field(default_factory=list)
    # What the pages write → what it is here: their network is that of the lab.
    stands_for: dict[str, str] = field(default_factory=dict)
    # What the last command with questions has printed.
    screen: bytearray = field(default_factory=bytearray)

    async def follow(self, page: Page) -> None:
        """Everything of the page, and what it promises."""
        for command in page.commands:
            await self.type(command, page.name)

    async def type(self, command: Command, name: str) -> None:
        command = self._here(command)
        run = self._asked if command.answers else self._run
        try:
            code, output = await asyncio.wait_for(run(command), LONGEST_SECONDS)
        except TimeoutError:
            shown = ESCAPES.sub("", self.screen.decode(errors="replace"))
            said = f"{name}:{command.line}: does not end: {command.text}\n{shown}"
            raise PageError(said) from None
        self.told.append(f"$ {command.text}\n{output}")
        said = f"{name}:{command.line}: {command.text}\nexit {code}\n{output}"
        if code != command.code:
            raise PageError(f"expected exit {command.code}: {said}")
        if (line := pages.missing(command.expected, output)) is not None:
            raise PageError(f"this line did not come: {line!r}\n{said}")

    def _here(self, command: Command) -> Command:
        def replaced(text: str) -> str:
            for written, here in self.stands_for.items():
                text = text.replace(written, here)
            return text

        expected = tuple(map(replaced, command.expected))
        return replace(command, text=replaced(command.text), expected=expected)

    async def _send(self, text: str) -> int:
        os.write(self.commands, text.encode() + b"\0")
        answer = await self.results.readline()
        if not answer:
            raise PageError(f"the shell ended: {text}")
        return int(answer)

    async def _run(self, command: Command) -> tuple[int, str]:
        file = self.folder / f"output-{len(self.told)}"
        code = await self._send(PLAIN.format(command=command.text, file=file))
        if command.text.rstrip().endswith("&"):
            await self._until(file, command)
        return code, _text(file)

    async def _until(self, file: Path, command: Command) -> None:
        """A program in the background: until it has said what the page shows."""

        async def said() -> bool:
            return not pages.missing(command.expected, _text(file))

        await until(said)

    async def _asked(self, command: Command) -> tuple[int, str]:
        """With a terminal, on which the answers are typed when their questions are there."""
        person, terminal = os.openpty()
        os.set_blocking(person, False)
        output = self.screen = bytearray()
        loop = asyncio.get_running_loop()
        answers = list(command.answers)

        def arrived() -> None:
            with contextlib.suppress(OSError):
                output.extend(os.read(person, 65536))
            text = ESCAPES.sub("", output.decode(errors="replace"))
            if answers and pages.pattern(f"{answers[0][0]}:").search(text):
                os.write(person, answers.pop(0)[1].encode() + b"\n")

        loop.add_reader(person, arrived)
        try:
            path = os.ttyname(terminal)
            code = await self._send(TERMINAL.format(command=command.text, path=path))
            arrived()
        finally:
            loop.remove_reader(person)
            os.close(person)
            os.close(terminal)
        return code, ESCAPES.sub("", output.decode(errors="replace"))


def _text(file: Path) -> str:
    return ESCAPES.sub("", file.read_text("utf-8", errors="replace"))


def _forking(folder: Path, preparer: Preparer, environment: Mapping[str, str]) -> dict[str, str]:
    (programs := folder / "bin").mkdir()
    talops = programs / "talops"
    talops.write_text(f"#!{sys.executable} -SE\n{SHIM.read_text('utf-8')}", encoding="utf-8")
    talops.chmod(talops.stat().st_mode | stat.S_IXUSR)
    path = f"{programs}:{environment['PATH']}"
    return {"PATH": path, "TALOPS_TEST_SOCKET": preparer.address}


@contextlib.asynccontextmanager
async def opened(
    folder: Path, cwd: Path, environment: Mapping[str, str], preparer: Preparer | None
) -> AsyncIterator[Session]:
    """A shell in `cwd`; `folder` takes what belongs to the session. Without a preparer, `talops`
    is what the environment or the page installs.
    """
    env = {**environment, **(_forking(folder, preparer, environment) if preparer else {})}
    (reads, writes), (answers, answered) = os.pipe(), os.pipe()
    process = await asyncio.create_subprocess_exec(
        "bash", "--noprofile", "--norc", "-c", LOOP.format(reads=reads, answered=answered),
        cwd=cwd, env=env, pass_fds=(reads, answered),
        # Not a session: its terminals would become those of the shell, and end it.
        stdin=asyncio.subprocess.DEVNULL, process_group=0,
    )  # fmt: skip
    os.close(reads)
    os.close(answered)
    results = asyncio.StreamReader()
    loop = asyncio.get_running_loop()
    pipe = os.fdopen(answers, "rb")
    transport, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(results), pipe)
    try:
        yield Session(process, writes, results, folder)
    finally:
        transport.close()
        os.close(writes)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGTERM)
        await process.wait()

"""Kill a process with SIGKILL right before its n-th step, and look everywhere for secrets.

A step is anything that changes the world outside: a file opened for writing, linked, renamed or
removed, a directory made, a program started. The interpreter's own audit hook counts them, so that
all are counted, and the process that dies is the real one.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tests.leftovers import leftovers

if TYPE_CHECKING:
    from collections.abc import Iterator

HOOK = """
import os, signal, sys
STEPS = {
    "os.link", "os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.chmod", "os.truncate",
    "subprocess.Popen", "os.posix_spawn", "tempfile.mkstemp", "tempfile.mkdtemp", "shutil.rmtree",
    "shutil.copyfile", "shutil.move",
}
last, counter = int(os.environ.pop("DIE_AT")), os.environ.pop("STEPS_FILE")
count = 0
def step():
    global count
    count += 1
    if count == last:
        os.kill(os.getpid(), signal.SIGKILL)
def hook(event, args):
    writes = event == "open" and isinstance(args[2], int) and args[2] & (os.O_WRONLY | os.O_RDWR)
    if event in STEPS or writes:
        step()
sys.addaudithook(hook)
"""
# After everything: how many steps there were, for tests that kill at each of them.
FAREWELL = """
total = count
with open(counter, "w") as file:
    file.write(str(total))
sys.exit(code)
"""
CLI = """
from talops.cli.app import run
code = run(sys.argv[1:])
"""
KILLED = -9


@dataclass(frozen=True)
class CrashSite:
    """Where one process lives: a repository, a TMPDIR and a PATH of its own."""

    root: Path
    folder: Path
    secrets: tuple[str, ...] = ()
    script: str = CLI

    @property
    def temporary(self) -> Path:
        return self.folder / "tmp"

    @property
    def log(self) -> Path:
        """How every program that was spied on had been called."""
        return self.folder / "calls"

    def spy(self, name: str, program: Path) -> None:
        """Let `name` write down its arguments and environment, then be the real one."""
        path = self.folder / "bin" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        entries = "for entry in /proc/$$/environ /proc/$$/cmdline; do tr '\\0' '\\n' <$entry; done"
        path.write_text(
            f"#!/bin/sh\n{{ {entries}; }} >>{shlex.quote(str(self.log))}\n"
            f'exec {shlex.quote(str(program))} "$@"\n'
        )
        path.chmod(0o755)

    def run(self, words: list[str], *, die_at: int = 0, given: str = "") -> int:
        """The exit code; -9 if it died at that step."""
        self.temporary.mkdir(parents=True, exist_ok=True)
        environment = {
            **os.environ,
            "DIE_AT": str(die_at),
            "STEPS_FILE": str(self.folder / "steps"),
            "TMPDIR": str(self.temporary),
            "PATH": f"{self.folder / 'bin'}:{os.environ['PATH']}",
            "PYTHONDONTWRITEBYTECODE": "1",
            "EDITOR": str(self.folder / "bin" / "editor"),
        }
        text = HOOK + self.script + FAREWELL
        done = subprocess.run(
            [sys.executable, "-c", text, *words],
            cwd=self.root,
            env=environment,
            input=given,
            text=True,
            capture_output=True,
            check=False,
            timeout=120,
        )
        assert done.returncode in {0, KILLED}, done.stderr
        self.look_at_processes()
        for secret in self.secrets:
            assert secret not in done.stdout + done.stderr
        return done.returncode

    @property
    def steps(self) -> int:
        """How many the last whole run had."""
        return int((self.folder / "steps").read_text())

    def holders(self, secret: str) -> set[str]:
        """Files of the repository and temporary ones that hold a secret in plain text."""
        places = [self.root, self.temporary, *Path("/dev/shm").glob("talops-*")]
        return {file.path.name for file in leftovers(*places) if secret.encode() in file.content}

    def look_at_processes(self) -> None:
        """Neither those that ran, by the spies' log, nor those that outlived their parent."""
        called = self.log.read_bytes() if self.log.exists() else b""
        for content in (called, *_processes()):
            for secret in self.secrets:
                assert secret.encode() not in content


def _processes() -> Iterator[bytes]:
    """Arguments and environment of everything that runs and may be looked at."""
    for folder in Path("/proc").glob("[0-9]*"):
        for name in ("cmdline", "environ"):
            try:
                yield (folder / name).read_bytes()
            except OSError:  # it has ended, or belongs to another user
                continue

"""A cloned repository beside the files of its user, which nothing may read, write or delete."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

EXAMPLES = Path(__file__).parents[3] / "examples"
PRECIOUS = "the user's own\n"


@dataclass(frozen=True)
class Hostile:
    """`root` is the clone; `victim` is a directory of the user next to it."""

    root: Path
    victim: Path

    @classmethod
    def clone(cls, folder: Path, example: str = "dev") -> Hostile:
        made = cls(folder / "clone", folder / "victim")
        for each in (made.root, made.victim / "configure", made.victim / "deep"):
            each.mkdir(parents=True)
        for name in ("cluster.yaml", "nodes.yaml"):
            text = (EXAMPLES / example / name).read_text("utf-8")
            (made.root / name).write_text(text, "utf-8")
        for name in ("file", "configure/kept", "deep/file"):
            (made.victim / name).write_text(PRECIOUS, "utf-8")
        return made

    def link(self, name: str, *, to: str = "") -> None:
        """A symlink of the repository to a file or directory of the user."""
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.symlink_to(os.path.relpath(self.victim / to, path.parent))

    def put(self, name: str, text: str) -> None:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")

    def outside(self) -> dict[str, tuple[int, int, str]]:
        """Everything beside the clone: modes, times of change, and contents."""
        found = {}
        for path in sorted(self.root.parent.rglob("*")):
            if path.is_relative_to(self.root):
                continue
            status = path.lstat()
            text = path.read_text("utf-8") if path.is_file() else ""
            changed = status.st_mtime_ns if path.is_file() else 0
            found[str(path.relative_to(self.root.parent))] = (status.st_mode, changed, text)
        return found


# In a process of its own: an audit hook cannot be removed. Events with a path are compared with
# the directory that nothing may touch; what is opened by descriptor has been checked by its owner.
WATCHED = """
import json, os, sys
victim, log = os.path.realpath(sys.argv[1]), sys.argv[2]
commands = json.loads(sys.argv[3])
from talops.cli.app import run
found = []
EVENTS = {"open", "os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.link", "os.symlink",
          "os.truncate", "os.chmod", "os.chown", "os.listdir", "os.scandir", "shutil.rmtree"}
def hook(event, args):
    if event not in EVENTS:
        return
    for path in args[:2]:
        if not isinstance(path, (str, bytes)) or path == b"":
            continue
        try:
            real = os.path.realpath(os.fsdecode(path))
        except (OSError, ValueError):
            continue
        if real == victim or real.startswith(victim + os.sep):
            found.append([event, os.fsdecode(path)])
codes = []
for command in commands:
    hooked = not codes and sys.addaudithook(hook)
    codes.append(run(command))
done = [found, codes]
found = []
print(json.dumps(done), file=open(log, "w"))
"""


def touched(hostile: Hostile, *commands: list[str]) -> tuple[list[list[str]], list[int]]:
    """What talops opened, listed or changed in the victim's directory, and its exit codes."""
    log = hostile.root.parent / "log"
    argv = [sys.executable, "-c", WATCHED, str(hostile.victim), str(log), json.dumps(commands)]
    home = {"HOME": str(hostile.victim), "PATH": os.environ["PATH"], "TALOPS_LOG": ""}
    # The tools of this user, which `secrets check` would otherwise install into that home.
    home["XDG_CACHE_HOME"] = os.environ.get("XDG_CACHE_HOME", str(Path.home() / ".cache"))
    subprocess.run(argv, cwd=hostile.root, env=home, check=True, capture_output=True, timeout=120)
    found, codes = json.loads(log.read_text("utf-8"))
    log.unlink()
    return found, codes

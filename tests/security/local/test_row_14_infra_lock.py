"""`talops infra` takes the lock of a run, and stops OpenTofu when it is stopped (row 14)."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest
from tests.child_processes import has_ended

from talops.pipeline.lock import Holder, local_lock
from talops.site.layer_access import fenced
from talops.waiting import NotYet, Ready, wait_for

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

# An OpenTofu that says it is 1.10, plans one change, and applies until it is interrupted.
TOFU = """#!{python}
import json, os, pathlib, signal, sys, time
here = pathlib.Path("{root}")
words = sys.argv[1:]
if words[:1] == ["version"]:
    print(json.dumps({{"terraform_version": "1.11.0", "platform": "linux_amd64"}}))
elif words[:1] == ["plan"]:
    sys.exit(2)
elif words[:1] == ["show"]:
    print(json.dumps({{"format_version": "1.2", "resource_changes": []}}))
elif words[:1] == ["apply"]:
    def stop(*_):
        (here / "interrupted").touch()
        sys.exit(1)
    signal.signal(signal.SIGINT, stop)
    (here / "pid").write_text(str(os.getpid()))
    (here / "applying").touch()
    time.sleep(600)
"""
CHANGING = {
    "init": (),
    "plan": (),
    "apply": (),
    "apply-auto": (),
    "destroy": (),
    "refresh": (),
    "import": ("a.b", "pve/1"),
    "force-unlock": ("1",),
}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    layer = tmp_path / "site/infrastructure/01-hypervisors"
    layer.mkdir(parents=True)
    (layer / "main.tf").write_text("", encoding="utf-8")
    (tmp_path / "site/.talops/infra").mkdir(parents=True)
    (tmp_path / "site/.talops/infra/01-hypervisors.tfplan").write_text("", encoding="utf-8")
    program = tmp_path / "tofu"
    program.write_text(TOFU.format(python=sys.executable, root=tmp_path), encoding="utf-8")
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    return tmp_path / "site"


def start(root: Path, command: str, *more: str) -> subprocess.Popen[str]:
    tofu = str(root.parent / "tofu")
    argv = [sys.executable, "-m", "talops", "-C", str(root), "infra", command, *more]
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("TF_", "TALOPS_"))}
    return subprocess.Popen(
        [*argv, "--layer", "01-hypervisors", "--tofu", tofu],
        env=kept,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )


@contextmanager
def another_run(root: Path) -> Iterator[None]:
    with local_lock(root / ".talops/lock", Holder.myself("1", "up", root)):
        yield


@pytest.mark.parametrize("command", CHANGING)
def test_beside_a_run(root: Path, command: str) -> None:
    """The attack: `infra` changed files, states and VMs of an `up` that was in progress."""
    with another_run(root):
        process = start(root, command, *CHANGING[command])
        _, err = process.communicate(timeout=120)
    assert process.returncode == 1, err
    assert "another run is in progress: talops up by" in err
    assert not (root.parent / "applying").exists()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
async def test_stopped_while_it_applies(root: Path, number: signal.Signals) -> None:
    """The attack: talops died, and OpenTofu went on alone."""
    process = start(root, "apply-auto")

    async def applying() -> Ready[None] | NotYet:
        assert process.poll() is None, process.stderr and process.stderr.read()
        return Ready(None) if (root.parent / "applying").exists() else NotYet("not yet")

    await wait_for("the apply", applying, timeout=120, interval=0.05)
    with pytest.raises(Exception, match="in progress"), another_run(root):
        pass
    process.send_signal(number)
    _, err = process.communicate(timeout=120)
    assert process.returncode == 130, err
    assert (root.parent / "interrupted").exists()
    assert await has_ended(int((root.parent / "pid").read_text()))
    with another_run(root):
        pass


def test_the_server_knows_the_run() -> None:
    """A run that lost its shared lock cannot write, and neither can its OpenTofu."""
    given = {"TF_HTTP_ADDRESS": "https://s/p/a", "TF_HTTP_LOCK_ADDRESS": "https://s/p/a/lock"}
    found = fenced(dict(given), "home.run:1")
    assert json.loads(json.dumps(found)) == {k: f"{v}?run=home.run:1" for k, v in given.items()}
    assert fenced(dict(given), "") == given

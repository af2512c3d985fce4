"""Small doors of the command line: ignored files, root's commands, and SIGTERM (row 25)."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
from typing import TYPE_CHECKING, Any

import pytest

from talops.cli.app import run
from talops.pipeline.interrupt import Interruption
from talops.pipeline.result import RunStatus
from talops.pipeline.runner import run_stages
from talops.pipeline.stage import Change, Stage
from talops.secrets.init import _ignore

if TYPE_CHECKING:
    from pathlib import Path

PRIVATE = (
    "infrastructure/02-platforms/a/terraform.tfstate",
    "infrastructure/02-platforms/a/terraform.tfstate.backup",
    "infrastructure/02-platforms/a/errored.tfstate",
    "infrastructure/02-platforms/a/.terraform/terraform.tfstate",
    "infrastructure/02-platforms/a/x.tfplan",
    ".talops/infra/a.tfplan",
    ".talops/nodes.json",
    "age.key",
    ".age.key.1-abcdef01",
    "kubeconfig",
    "talosconfig",
)


@pytest.mark.parametrize("existing", ["", "*.log\n", "terraform.tfstate\n"])
def test_secrets_init_alone_keeps_states_out_of_git(tmp_path: Path, existing: str) -> None:
    """States contain credentials; the real git says what it would commit."""
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    if existing:
        (tmp_path / ".gitignore").write_text(existing)
    _ignore(tmp_path, [])
    for name in PRIVATE:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("secret")
    words = ["git", "-C", str(tmp_path), "status", "--porcelain", "-uall"]
    done = subprocess.run(words, check=True, capture_output=True, text=True)
    assert done.stdout == "?? .gitignore\n"


CLUSTER = """\
cluster_name: home
talos_version: v1.14.1
kubernetes_version: v1.36.3
node_cidr: 10.0.0.0/24
proxmox_api_url: https://pve.example:8006
proxmox_node: pve
"""
NODES = "nodes:\n  - {name: cp-1, address: 10.0.0.11, controller: true}\n"
TEXTS = ("proxmox_iso_storage", "proxmox_disk_storage", "proxmox_pool", "proxmox_node")


@pytest.mark.parametrize("key", TEXTS)
@pytest.mark.parametrize("value", ["local\\nreboot now #", "local; reboot now", "$(reboot now)"])
def test_host_prepare_prints_no_command_of_the_inventory(
    tmp_path: Path, key: str, value: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its lines are copied into a shell of root: each text is one word there, or refused."""
    kept = [line for line in CLUSTER.splitlines() if not line.startswith(f"{key}:")]
    (tmp_path / "cluster.yaml").write_text("\n".join([*kept, f'{key}: "{value}"']) + "\n")
    (tmp_path / "nodes.yaml").write_text(NODES)
    code = run(["host", "prepare", "--print", "-C", str(tmp_path)])
    out = capsys.readouterr().out
    assert code == 3 or "reboot" not in unquoted(out), out


def unquoted(script: str) -> str:
    """What a shell would take for commands: comments and quoted texts left out."""
    import shlex

    lines = [line for line in script.splitlines() if not line.startswith("#")]
    return "\n".join(word for line in lines for word in shlex.split(line) if " " not in word)


class Waiting(Stage[int, Change]):
    """Each change waits for five minutes, as a change of OpenTofu or of a node may."""

    name = "waiting"

    def __init__(self) -> None:
        self.begun = asyncio.Event()
        self.cancelled = False

    async def observe(self) -> int:
        return 0

    def plan(self, facts: int) -> list[Change]:
        return [Change("create", "a"), Change("create", "b")]

    async def apply(self, change: Change) -> None:
        self.begun.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            self.cancelled = True
            raise

    async def verify(self, _: Any, /) -> None:
        raise AssertionError


async def test_sigterm_does_not_wait_for_a_long_step() -> None:
    """The sender of it sends SIGKILL soon: talops stops now, and the next run continues."""
    stage, interruption = Waiting(), Interruption()
    with interruption.on_signals():
        task = asyncio.ensure_future(
            run_stages([stage], emit=lambda _: None, interruption=interruption)
        )
        await stage.begun.wait()
        os.kill(os.getpid(), signal.SIGTERM)
        result = await asyncio.wait_for(task, 60)
    assert (result.status, result.exit_code) == (RunStatus.INTERRUPTED, 130)
    assert stage.cancelled

"""OpenTofu, and Terraform where it is present, against a server over every store."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import time
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import httpx
import pytest
from tests.statestore.helpers import lock_document
from tests.statestore.stores import STORES

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.statestore.running import Running

pytestmark = pytest.mark.slow
APPLY = ("apply", "-auto-approve", "-input=false")
HOLDER = lock_document("d1f9c1de-1111-2222-3333-444455556666", "carol@workstation")
MAIN = """
terraform {
  backend "http" {}
}
resource "terraform_data" "one" {
  input = "%s"
  # Whoever makes it holds the lock until the gate opens.
  provisioner "local-exec" { command = "until [ -e gate ]; do sleep 0.05; done" }
}
output "value" { value = terraform_data.one.output }
"""
ENCRYPTION = """
key_provider "pbkdf2" "p" { passphrase = "a passphrase of some length" }
method "aes_gcm" "m" { keys = key_provider.pbkdf2.p }
state {
  method   = method.aes_gcm.m
  enforced = true
}
"""


@dataclass
class Stack:
    """A directory with a configuration, and a tool to run in it."""

    program: Path
    directory: Path
    address: str
    lock_address: str = ""

    def __post_init__(self) -> None:
        self.directory.mkdir(parents=True)
        self.write("first")
        (self.directory / "cli.rc").write_text("")

    def write(self, value: str) -> None:
        (self.directory / "main.tf").write_text(MAIN % value)

    def twin(self, directory: Path) -> Stack:
        """Another directory with the same state, initialised likewise."""
        made = Stack(self.program, directory, self.address)
        shutil.copytree(self.directory / ".terraform", directory / ".terraform")
        return made

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        lock = self.lock_address or self.address
        settings = {
            "TF_HTTP_ADDRESS": self.address,
            "TF_HTTP_LOCK_ADDRESS": lock,
            "TF_HTTP_UNLOCK_ADDRESS": lock,
            "TF_HTTP_RETRY_WAIT_MIN": "1",
            "TF_CLI_CONFIG_FILE": str(self.directory / "cli.rc"),
            "TF_IN_AUTOMATION": "1",
            "CHECKPOINT_DISABLE": "1",
        }
        if self.lock_address.endswith("/lock"):
            settings |= {"TF_HTTP_LOCK_METHOD": "POST", "TF_HTTP_UNLOCK_METHOD": "DELETE"}
        return subprocess.Popen(
            [self.program, *arguments, "-no-color"],
            cwd=self.directory,
            env={**os.environ, **settings},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def run(self, *arguments: str, code: int = 0) -> str:
        process = self.start(*arguments)
        output, _ = process.communicate(timeout=120)
        assert process.returncode == code, output
        return output


@pytest.fixture(params=["tofu", "terraform"])
def program(request: pytest.FixtureRequest, tool: Callable[[str], Path]) -> Path:
    if request.param == "tofu":
        return tool("tofu")
    found = shutil.which("terraform")
    if found is None:
        pytest.skip("terraform is not on PATH")
    return Path(found)


@pytest.fixture(params=STORES)
def server(request: pytest.FixtureRequest, server_over: Callable[[str], Running]) -> Running:
    return server_over(request.param)


@pytest.fixture
def stack(program: Path, server: Running, tmp_path: Path) -> Stack:
    made = Stack(program, tmp_path / "one", f"{server.address}/{uuid.uuid4().hex}/platform")
    made.run("init")
    return made


def test_a_life_of_a_state(stack: Stack, server: Running, tmp_path: Path) -> None:
    """init, plan, two applies at once, the lock of a machine that died, force-unlock, destroy."""
    stack.run("plan", "-detailed-exitcode", code=2)
    first = stack.start(*APPLY)
    holder = _wait_for_holder(stack)
    rival = stack.twin(tmp_path / "two")
    rival.write("from the second")
    refused = rival.run("plan", code=1)
    assert holder["ID"] in refused
    # Terraform names the holder by the id alone.
    assert holder["Who"] in refused or stack.program.name == "terraform"
    before = _refusals(server)
    second = rival.start(*APPLY, "-lock-timeout=120s")
    _wait("the second apply asks for the lock", lambda: _refusals(server) > before)
    (stack.directory / "gate").touch()
    for process in (first, second):
        output, _ = process.communicate(timeout=120)
        assert process.returncode == 0, output
    assert json.loads(rival.run("output", "-json"))["value"]["value"] == "from the second"
    httpx.request("LOCK", stack.address, content=json.dumps(HOLDER))
    assert HOLDER["ID"] in rival.run(*APPLY, code=1)
    rival.run("force-unlock", "-force", HOLDER["ID"])
    audit = httpx.get(f"{server.address}/-/audit").json()
    mine = [(e["action"], e["detail"]) for e in audit if stack.address.endswith(e["state"])]
    forced = [entry for entry in mine if entry[0] == "force-unlock"]
    assert forced == [("force-unlock", f"lock {HOLDER['ID']}")]
    assert {"lock", "unlock", "read", "write"} <= {action for action, _ in mine}
    assert "1 destroyed" in rival.run("destroy", "-auto-approve")


@pytest.mark.parametrize("server", ["sqlite"], indirect=True)
def test_the_older_layout_with_lock_addresses(
    program: Path, server: Running, tmp_path: Path
) -> None:
    """A backend block of another server only changes its host: POST and DELETE on …/lock."""
    address = f"{server.address}/tfstate/states/{uuid.uuid4().hex}"
    stack = Stack(program, tmp_path / "old", address, address + "/lock")
    (stack.directory / "gate").touch()
    stack.run("init")
    stack.run(*APPLY)
    httpx.post(address + "/lock", content=json.dumps(HOLDER))
    assert HOLDER["ID"] in stack.run(*APPLY, code=1)
    httpx.request("DELETE", address + "/lock", content=json.dumps(HOLDER))
    assert "No changes" in stack.run("plan")


@pytest.mark.parametrize("server", ["sqlite"], indirect=True)
def test_an_older_state_comes_back(stack: Stack, server: Running) -> None:
    """By a rollback, or by `state push -force` once the server is told that it is meant."""
    (stack.directory / "gate").touch()
    stack.run(*APPLY)
    old = stack.directory / "old.tfstate"
    old.write_bytes(httpx.get(stack.address).content)
    stack.write("second")
    stack.run(*APPLY)
    project = stack.address.split("/")[-2]
    done = httpx.post(f"{server.address}/-/states/{project}/platform/rollback?version=1")
    assert done.status_code == 200
    stack.run("plan", "-detailed-exitcode", code=2)
    for value in ("third", "fourth"):
        stack.write(value)
        stack.run(*APPLY)
    # Both tools keep the server's reason to themselves; docs/state.md says what 409 means.
    assert "409" in stack.run("state", "push", "-force", old.name, code=1)
    stack.lock_address, stack.address = stack.address, stack.address + "?force=true"
    stack.run("state", "push", "-force", old.name)
    assert json.loads(stack.run("output", "-json"))["value"]["value"] == "first"


@pytest.mark.parametrize("server", ["sqlite"], indirect=True)
def test_client_side_encryption(
    server: Running, tool: Callable[[str], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """OpenTofu's own encryption passes through, and a rollback is accepted by the client."""
    monkeypatch.setenv("TF_ENCRYPTION", ENCRYPTION)
    project = uuid.uuid4().hex
    stack = Stack(tool("tofu"), tmp_path / "one", f"{server.address}/{project}/sealed")
    (stack.directory / "gate").touch()
    stack.run("init")
    stack.run(*APPLY)
    stack.write("second")
    stack.run(*APPLY)
    assert b"first" not in httpx.get(stack.address).content
    httpx.post(f"{server.address}/-/states/{project}/sealed/rollback?version=1")
    assert json.loads(stack.run("output", "-json"))["value"]["value"] == "first"
    stack.run(*APPLY)


def _wait_for_holder(stack: Stack) -> dict[str, str]:
    """The holder of the lock, once it is held."""
    address = stack.address + "/lock"
    _wait("the first apply holds the lock", lambda: httpx.get(address).is_success)
    found: dict[str, str] = httpx.get(address).json()
    return found


def _refusals(server: Running) -> int:
    page = httpx.get(f"{server.address}/metrics").text
    found = re.search(r"^talops_state_refused_locks_total (\d+)", page, re.MULTILINE)
    assert found is not None
    return int(found[1])


def _wait(what: str, condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline, f"never: {what}"
        time.sleep(0.05)

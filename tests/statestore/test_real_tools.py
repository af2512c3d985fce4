"""OpenTofu, and Terraform where it is present, against a server over every store."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import httpx
import pytest
from tests.statestore.helpers import lock_document
from tests.statestore.running import running

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.statestore.running import Running

    from talops.statestore.stores import StoreAddress

pytestmark = pytest.mark.slow
HOLDER = lock_document("d1f9c1de-1111-2222-3333-444455556666", "carol@workstation")
MAIN = """
terraform {
  backend "http" {}
}
resource "terraform_data" "one" { input = "%s" }
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
        if self.lock_address:
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

    def apply(self, *arguments: str) -> str:
        return self.run("apply", "-auto-approve", "-input=false", *arguments)


@pytest.fixture(params=["tofu", "terraform"])
def program(request: pytest.FixtureRequest, tool: Callable[[str], Path]) -> Path:
    if request.param == "tofu":
        return tool("tofu")
    found = shutil.which("terraform")
    if found is None:
        pytest.skip("terraform is not on PATH")
    return Path(found)


@pytest.fixture
def server(store_address: StoreAddress) -> Iterator[Running]:
    with running(store_address) as started:
        yield started


@pytest.fixture
def stack(program: Path, server: Running, tmp_path: Path) -> Stack:
    made = Stack(program, tmp_path / "one", f"{server.address}/homelab/platform")
    made.run("init")
    return made


def test_a_life_of_a_state(stack: Stack, server: Running) -> None:
    """init, apply, an empty plan, a change, force-unlock and destroy."""
    assert "1 added" in stack.apply()
    assert "No changes" in stack.run("plan", "-detailed-exitcode")
    stack.write("second")
    stack.apply()
    assert json.loads(stack.run("output", "-json"))["value"]["value"] == "second"
    versions = httpx.get(f"{server.address}/-/states/homelab/platform/versions").json()
    serials = [version["serial"] for version in versions]
    assert serials == sorted(serials, reverse=True)
    httpx.request("LOCK", stack.address, content=json.dumps(HOLDER))
    refused = stack.run("apply", "-auto-approve", code=1)
    assert HOLDER["ID"] in refused
    # Terraform names the holder by the id alone.
    assert HOLDER["Who"] in refused or stack.program.name == "terraform"
    stack.run("force-unlock", "-force", HOLDER["ID"])
    (entry,) = httpx.get(f"{server.address}/-/audit").json()
    assert (entry["action"], entry["detail"]) == ("force-unlock", f"lock {HOLDER['ID']}")
    assert "1 destroyed" in stack.run("destroy", "-auto-approve")


def test_two_applies_at_once(stack: Stack, server: Running) -> None:
    """One holds the lock; the other waits for it with -lock-timeout, and then succeeds."""
    stack.apply()
    stack.write("from the second")
    httpx.request("LOCK", stack.address, content=json.dumps(HOLDER))
    second = stack.start("apply", "-auto-approve", "-lock-timeout=60s")
    _wait_for_refusal(server)
    httpx.request("UNLOCK", stack.address, content=json.dumps(HOLDER))
    output, _ = second.communicate(timeout=120)
    assert second.returncode == 0, output
    assert "1 changed" in output or "1 added" in output


@pytest.mark.parametrize("program", ["tofu"], indirect=True)
def test_rival_applies_lose_nothing(stack: Stack, program: Path, tmp_path: Path) -> None:
    """Three applies of one state at the same moment all succeed, one after the other."""
    stack.apply()
    rivals = []
    for name in ("a", "b", "c"):
        rival = Stack(program, tmp_path / name, stack.address)
        rival.run("init")
        rival.write(name)
        rivals.append(rival)
    started = [r.start("apply", "-auto-approve", "-lock-timeout=120s") for r in rivals]
    outputs = [process.communicate(timeout=200)[0] for process in started]
    assert [process.returncode for process in started] == [0, 0, 0], outputs
    assert json.loads(stack.run("output", "-json"))["value"]["value"] in {"a", "b", "c"}


@pytest.mark.parametrize("store_address", ["sqlite"], indirect=True)
def test_the_older_layout_with_lock_addresses(
    program: Path, server: Running, tmp_path: Path
) -> None:
    """A backend block of another server only changes its host: POST and DELETE on …/lock."""
    address = f"{server.address}/tfstate/states/legacy"
    stack = Stack(program, tmp_path / "old", address, address + "/lock")
    stack.run("init")
    assert "1 added" in stack.apply()
    httpx.post(address + "/lock", content=json.dumps(HOLDER))
    assert HOLDER["ID"] in stack.run("apply", "-auto-approve", code=1)
    httpx.request("DELETE", address + "/lock", content=json.dumps(HOLDER))
    assert "No changes" in stack.run("plan")


@pytest.mark.parametrize("store_address", ["sqlite"], indirect=True)
def test_a_rolled_back_state_is_taken_as_it_was(stack: Stack, server: Running) -> None:
    """After a rollback the tools see the old state and carry on from it."""
    stack.apply()
    stack.write("second")
    stack.apply()
    done = httpx.post(f"{server.address}/-/states/homelab/platform/rollback?version=1")
    assert done.status_code == 200
    assert re.search(r'"first"\s+-> "second"|1 to change', stack.run("plan"))
    stack.apply()
    assert "No changes" in stack.run("plan")


@pytest.mark.parametrize("store_address", ["sqlite"], indirect=True)
def test_client_side_encryption(
    server: Running, tool: Callable[[str], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """OpenTofu's own encryption passes through, and a rollback is accepted by the client."""
    monkeypatch.setenv("TF_ENCRYPTION", ENCRYPTION)
    stack = Stack(tool("tofu"), tmp_path / "one", f"{server.address}/homelab/sealed")
    stack.run("init")
    stack.apply()
    stack.write("second")
    stack.apply()
    assert b"first" not in httpx.get(stack.address).content
    httpx.post(f"{server.address}/-/states/homelab/sealed/rollback?version=1")
    assert json.loads(stack.run("output", "-json"))["value"]["value"] == "first"
    stack.apply()


def _wait_for_refusal(server: Running) -> None:
    """Until the waiting client has been refused once."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        page = httpx.get(f"{server.address}/metrics").text
        if re.search(r"^talops_state_refused_locks_total [1-9]", page, re.MULTILINE):
            return
        time.sleep(0.1)
    raise AssertionError("the second apply never asked for the lock")

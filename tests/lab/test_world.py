"""Labs: in parallel, stopped and started, reset, and from the command line."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import ssl
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest
from tests.lab.proxmox.conftest import running

from talops.cli.lab.commands import _last_words
from talops.errors import ConflictError, TalopsError
from talops.lab.layout import Layout
from talops.lab.network import claim
from talops.lab.spec import LabSpec, read_spec, standalone
from talops.lab.world import World, is_running

if TYPE_CHECKING:
    from pathlib import Path


async def test_labs_run_in_parallel(tmp_path: Path) -> None:
    """Each has its own network, secrets and VMs."""
    async with running(tmp_path / "a") as one, running(tmp_path / "b") as two:
        assert one.world.network != two.world.network
        assert one.world.identity.credentials != two.world.identity.credentials
        await one.task("POST", "/nodes/pve/qemu", vmid=101)
        assert await two.call("GET", "/nodes/pve/qemu") == []


async def test_a_directory_has_one_lab(tmp_path: Path) -> None:
    """A second start says which command shows the first."""
    async with running(tmp_path / "lab"):
        assert is_running(Layout(tmp_path / "lab"))
        with pytest.raises(ConflictError) as refused:
            World(tmp_path / "lab")
        assert "talops lab status" in str(refused.value.hint)
    assert not is_running(Layout(tmp_path / "lab"))


async def test_a_lab_remembers(tmp_path: Path) -> None:
    """Network, passwords, VMs and files are the same after a restart."""
    async with running(tmp_path / "lab", LabSpec(proxmox=(standalone("alpha"),))) as pve:
        before = pve.world.endpoints()
        await pve.task("POST", "/nodes/alpha/qemu", vmid=101, scsi0="local-lvm:1")
        config = await pve.call("GET", "/nodes/alpha/qemu/101/config")
    async with running(tmp_path / "lab") as pve:
        assert pve.world.endpoints() == before
        assert await pve.call("GET", "/nodes/alpha/qemu/101/config") == config


async def test_reset_forgets_all_but_the_identity(tmp_path: Path) -> None:
    """Empty hosts at the same addresses with the same token."""
    async with running(tmp_path / "lab") as pve:
        await pve.task("POST", "/nodes/pve/qemu", vmid=101)
        await pve.world.reset()
        assert await pve.call("GET", "/nodes/pve/qemu") == []


async def test_tls_is_new_and_trusted(tmp_path: Path) -> None:
    """TLS 1.3 or nothing."""
    async with running(tmp_path / "lab") as pve:
        old = pve.world.authority.client_context()
        old.maximum_version = ssl.TLSVersion.TLSv1_2
        address = pve.world.proxmox.address("pve")
        with pytest.raises((ssl.SSLError, ConnectionError)):
            await asyncio.open_connection(address, 8006, ssl=old)


async def test_a_taken_port_is_an_error_with_a_hint(tmp_path: Path) -> None:
    """What listens on all addresses, as a real Proxmox does on 8006, leaves none for a lab."""
    world = World(tmp_path / "lab")
    address = world.proxmox.address("pve")
    with socket.create_server((address, 8006)):
        with pytest.raises(ConflictError, match=rf"cannot listen: .*{address}.*8006") as refused:
            await world.start()
        assert "ss -ltnp" in str(refused.value.hint)
    assert not is_running(Layout(tmp_path / "lab"))


def test_the_error_of_a_lab_in_the_background_is_told(tmp_path: Path) -> None:
    """It stands in the log, after what earlier labs wrote there."""
    log = tmp_path / "lab.log"
    log.write_text("error: an earlier one\n")
    start = log.stat().st_size
    log.write_text(log.read_text() + "noise\nerror: no port\n  next: free it\n")
    assert _last_words(log, start) == "error: no port next: free it"
    assert _last_words(log, log.stat().st_size) == ""


async def test_network_is_held_to_the_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another lab cannot take the network while parts of this one still listen."""
    async with running(tmp_path / "lab") as pve:
        factory, number = pve.world.factory, pve.world.network.number
        stop = factory.stop
        refused = []

        async def look() -> None:
            with pytest.raises(ConflictError):
                claim(tmp_path, number)
            refused.append(True)
            await stop()

        monkeypatch.setattr(factory, "stop", look)
    assert refused


def test_secrets_are_private(tmp_path: Path) -> None:
    """What holds passwords and keys is for the owner only."""

    async def start() -> None:
        async with running(tmp_path / "lab") as pve:
            layout = pve.world.layout
            secret = [layout.identity, layout.running, layout.pki / "ca.key"]
            secret += layout.root.glob("state/*/state.db")
            assert {oct(path.stat().st_mode & 0o777) for path in secret} == {"0o600"}

    asyncio.run(start())


@pytest.mark.parametrize("text", ["{", '{"proxmox": 1}', '{"colour": "red"}'])
def test_wrong_specs(tmp_path: Path, text: str) -> None:
    """An invalid spec is refused with its file."""
    path = tmp_path / "spec.json"
    path.write_text(text)
    with pytest.raises(TalopsError) as refused:
        read_spec(path)
    assert refused.value.where == str(path)


class Cli:
    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def __call__(self, *words: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "talops", "lab", *words, "--dir", str(self.directory)]
        return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)

    def json(self, *words: str) -> Any:
        done = self(*words, "-o", "json")
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)


def test_the_command_line(tmp_path: Path) -> None:
    """Start --detach, status, fault, reset, stop; and errors that say what to type next."""
    lab = Cli(tmp_path / "lab")
    missing = lab("status")
    assert missing.returncode == 1
    assert "talops lab start --detach" in missing.stderr
    details = lab.json("proxmox", "--detach", "--host", "alpha", "--host", "beta")
    try:
        assert [host["name"] for host in details["proxmox"]["hosts"]] == ["alpha", "beta"]
        assert lab("proxmox", "--detach").returncode == 1
        added = lab.json("fault", "add", "error", "path=/version", "times=3")
        assert (added["path"], added["times"]) == ("/version", 3)
        assert lab.json("status")["faults"][0]["id"] == added["id"]
        crash = lab.json("fault", "add", "talos-crash", "machine=cp-1", "phase=install")
        assert (crash["machine"], crash["phase"], crash["times"]) == ("cp-1", "install", 1)
        wrong = lab("fault", "add", "meteor")
        assert (wrong.returncode, "unknown kind" in wrong.stderr) == (1, True)
        assert lab("fault", "clear").returncode == 0
        assert lab.json("fault", "list") == []
        assert lab("reset").returncode == 0
    finally:
        assert lab("stop").returncode == 0
    assert not is_running(Layout(tmp_path / "lab"))


def test_a_killed_lab_starts_again(tmp_path: Path) -> None:
    """Kill -9 leaves a state that the next start takes up."""
    lab = Cli(tmp_path / "lab")
    first = lab.json("proxmox", "--detach")
    os.kill(first["pid"], signal.SIGKILL)
    again = lab.json("proxmox", "--detach")
    try:
        assert again["network"] == first["network"]
        assert again["proxmox"] == first["proxmox"]
        assert again["pid"] != first["pid"]
    finally:
        assert lab("stop").returncode == 0

"""Layers without providers, and the lab with VMs in it."""

from __future__ import annotations

import contextlib
import json
import os
import ssl
import subprocess
import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from tests.real_provider import served, settings_file, unpacked

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from tests.real_provider import Programs

# Not an expectation, only an end: a busy machine may need minutes for what takes seconds.
PATIENCE = 600
MAIN = """\
variable "cores" { default = 2 }
variable "password" { default = "" }

resource "terraform_data" "vm" {
  for_each = toset(["a", "b"])
  input    = { name = each.key, cores = var.cores }
}

output "names" { value = [for v in terraform_data.vm : v.output.name] }
output "secret" {
  value     = "hunter2-hunter2"
  sensitive = true
}
"""


@dataclass(frozen=True)
class Talops:
    """The command line in a process of its own, as a user runs it."""

    root: Path
    environment: dict[str, str] = field(default_factory=dict)

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-m", "talops", "-C", str(self.root), *arguments],
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    def run(self, *arguments: str) -> tuple[int, str, str]:
        process = self.start(*arguments)
        out, err = process.communicate(timeout=PATIENCE)
        return process.returncode, out, err

    def ok(self, *arguments: str) -> str:
        code, out, err = self.run(*arguments)
        assert code == 0, err + out
        return out

    def events(self, *arguments: str) -> list[dict[str, Any]]:
        _, out, _ = self.run(*arguments, "-o", "json")
        return [json.loads(line) for line in out.splitlines()]


@pytest.fixture
def clean_environment(tool: Callable[[str], Path], tmp_path: Path) -> dict[str, str]:
    """The pinned tofu first on PATH, and no settings of the user who runs the tests."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("TF_", "PROXMOX_", "TALOPS_"))}
    return {**kept, "PATH": f"{tool('tofu').parent}:{os.environ['PATH']}"}


@pytest.fixture
def talops(clean_environment: dict[str, str], tmp_path: Path) -> Talops:
    """Two layers that need no provider."""
    for name in ("01-hypervisors", "02-platforms/home"):
        folder = tmp_path / "infrastructure" / name
        folder.mkdir(parents=True)
        (folder / "main.tf").write_text(MAIN, encoding="utf-8")
    return Talops(tmp_path, clean_environment)


@dataclass(frozen=True)
class LabSite:
    """An inventory, its rendered layers and a lab's Proxmox with the provider in a mirror."""

    talops: Talops
    lab: Path
    details: dict[str, Any]

    def proxmox(self, method: str, path: str, **data: str) -> Any:
        context = ssl.create_default_context(cafile=self.details["ca_file"])
        endpoint = self.details["proxmox"]["hosts"][0]["endpoint"]
        token = self.details["proxmox"]["api_token"]
        with httpx.Client(base_url=f"{endpoint}api2/json/", verify=context) as client:
            headers = {"Authorization": f"PVEAPIToken={token}"}
            answer = client.request(method, path, data=data or None, headers=headers)
        answer.raise_for_status()
        return answer.json()["data"]

    def vms(self) -> dict[str, dict[str, Any]]:
        return {vm["name"]: vm for vm in self.proxmox("GET", "cluster/resources?type=vm")}

    def owners(self) -> set[int]:
        """The VMs whose disks are on the storage: more of them than VMs means orphans."""
        volumes = self.proxmox("GET", "nodes/pve/storage/local-lvm/content")
        return {volume["vmid"] for volume in volumes}

    def edit(self, old: str, new: str) -> None:
        """Change the inventory and render it."""
        path = self.talops.root / "cluster.yaml"
        text = path.read_text(encoding="utf-8")
        assert old in text
        path.write_text(text.replace(old, new), encoding="utf-8")
        self.talops.ok("configure")

    def fault(self, *settings: str) -> None:
        self.talops.ok("lab", "fault", "add", "--dir", str(self.lab), *settings)


@pytest.fixture
def make_site(
    clean_environment: dict[str, str], programs: Programs, tmp_path: Path
) -> Iterator[Callable[..., LabSite]]:
    """Start a lab and render an inventory for it; everything is stopped afterwards."""
    config = settings_file(programs.mirror, tmp_path)
    root, lab = tmp_path / "site", tmp_path / "lab"
    root.mkdir()
    talops = Talops(root, {**clean_environment, "TF_CLI_CONFIG_FILE": str(config)})
    started: list[bool] = []
    providers = contextlib.ExitStack()

    def make(control_planes: int, workers: int, *more: str, own_provider: bool = False) -> LabSite:
        """`own_provider`: each OpenTofu starts one, so that it can be killed."""
        place = ("--dir", str(lab))
        pace = () if "--pace" in more else ("--pace", "0")
        out = talops.ok("lab", "proxmox", "--detach", *place, *pace, *more, "-o", "json")
        started.append(True)
        counts = ("--control-planes", str(control_planes), "--workers", str(workers))
        talops.ok("lab", "inventory", *place, *counts)
        details = json.loads(out)
        # The token by the environment and a state in plain text: opening the encrypted file and
        # stretching a passphrase would take most of the time of every command here.
        (root / "infrastructure" / "secrets.sops.yaml").unlink()
        talops.environment["PROXMOX_VE_API_TOKEN"] = details["proxmox"]["api_token"]
        if not own_provider:
            known = {
                **talops.environment,
                "PROXMOX_VE_ENDPOINT": details["proxmox"]["hosts"][0]["endpoint"],
                "SSL_CERT_FILE": details["ca_file"],
            }
            program = unpacked(programs.mirror, tmp_path)
            how = providers.enter_context(served(program, known))
            talops.environment["TF_REATTACH_PROVIDERS"] = how
        talops.ok("configure")
        talops.ok("infra", "init")
        return LabSite(talops, lab, details)

    with providers:
        yield make
    if started:
        talops.ok("lab", "stop", "--dir", str(lab))

"""Layers without providers, and the lab with VMs in it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

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
        out, err = process.communicate(timeout=240)
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
    """The pinned tofu first on PATH, and no settings of whoever runs the tests."""
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

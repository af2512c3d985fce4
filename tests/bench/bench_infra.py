"""A hundred VMs by `talops infra apply`, beside the same plan applied by OpenTofu alone.

talops judges the plan first and ends with a second plan that must be empty. That costs the same
however long Proxmox works, so both are shown, until the plan is applied and until the end, in the
lab as people start it and in one whose tasks take no time at all, where a plan takes as long as an
apply; the bound is the same everywhere.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tests.bench.figure import Figure
from tests.real_provider import settings_file

from talops.lab.spec import usual
from talops.toolchain.install import Toolchain

if TYPE_CHECKING:
    from collections.abc import Iterator

WORKERS, PARALLELISM = 99, "10"
LAYER = "infrastructure/02-platforms/demo"
PLAN = ".talops/infra/02-platforms-demo.tfplan"


def figures() -> Iterator[Figure]:
    for pace in (usual().pace, 0.0):
        took = _measured(pace)
        host = f"tasks of {pace:g} s a step" if pace else "tasks that take no time"
        yield Figure(f"infra: 100 VMs, {host}, tofu alone", took.alone, "s")
        yield Figure(f"infra: the same by talops, {host}", took.applied, "s")
        yield Figure(f"infra: … and its second plan, {host}", took.checked, "s")
        yield Figure(f"infra: applied, {host}", took.applied / took.alone, "x", 1.3)
        yield Figure(f"infra: applied and checked, {host}", took.checked / took.alone, "x", 1.3)


@dataclass(frozen=True)
class Took:
    """Seconds: `tofu apply`; talops until it has applied the same plan, and until its end."""

    alone: float
    applied: float
    checked: float


def _measured(pace: float) -> Took:
    with tempfile.TemporaryDirectory(prefix="talops-bench-") as scratch:
        site = Site.make(Path(scratch), pace)
        try:
            return _measure(site)
        finally:
            site.talops("lab", "stop", "--dir", str(site.lab))


@dataclass(frozen=True)
class Site:
    """An inventory for a lab of its own; `environment` is what both programs get."""

    root: Path
    lab: Path
    tofu: Path
    environment: dict[str, str]

    @classmethod
    def make(cls, scratch: Path, pace: float) -> Site:
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("TF_", "PROXMOX_VE_"))}
        tofu = asyncio.run(Toolchain(os.environ).ensure("tofu")).path
        site = cls(scratch / "site", scratch / "lab", tofu, kept)
        site.root.mkdir()
        place = ("--dir", str(site.lab))
        lab = ("--detach", "--pace", str(pace), "-o", "json")
        details = json.loads(site.talops("lab", "proxmox", *place, *lab))
        chain = Toolchain(os.environ)
        config = settings_file(asyncio.run(chain.ensure("provider")).path, scratch)
        site.environment.update(
            TF_CLI_CONFIG_FILE=str(config),
            PROXMOX_VE_ENDPOINT=details["proxmox"]["hosts"][0]["endpoint"],
            PROXMOX_VE_API_TOKEN=details["proxmox"]["api_token"],
            SSL_CERT_FILE=details["ca_file"],
        )
        counts = ("--control-planes", "1", "--workers", str(WORKERS))
        site.talops("lab", "inventory", *place, *counts)
        # A state in plain text: what stretching its passphrase costs is not the question here.
        (site.root / "infrastructure" / "secrets.sops.yaml").unlink()
        site.talops("configure")
        return site

    def talops(self, *words: str, fine: tuple[int, ...] = (0,)) -> str:
        command = [sys.executable, "-m", "talops", "-C", str(self.root), *words]
        return self._run(command, self.root, fine)

    def applied(self, *words: str) -> tuple[float, float]:
        """Seconds until OpenTofu has carried out the plan, and until the end."""
        command = [sys.executable, "-m", "talops", "-C", str(self.root), *words, "-o", "json"]
        started, applied = time.monotonic(), 0.0
        with subprocess.Popen(
            command, cwd=self.root, env=self.environment, stdout=subprocess.PIPE, text=True
        ) as process:
            assert process.stdout
            for line in process.stdout:
                event = json.loads(line)
                if (event["kind"], event.get("step")) == ("layer_done", "apply"):
                    applied = time.monotonic() - started
        if process.returncode or not applied:
            raise RuntimeError(f"{' '.join(command)}: exit code {process.returncode}")
        return applied, time.monotonic() - started

    def alone(self, *words: str) -> str:
        return self._run([str(self.tofu), *words], self.root / LAYER, (0,))

    def _run(self, command: list[str], where: Path, fine: tuple[int, ...]) -> str:
        done = subprocess.run(
            command, cwd=where, env=self.environment, capture_output=True, text=True, check=False
        )
        if done.returncode not in fine:
            raise RuntimeError(f"{' '.join(command)}: {done.stderr}{done.stdout}")
        return done.stdout


def _measure(site: Site) -> Took:
    """From an empty host each."""
    differs = (2,)
    site.talops("infra", "init")
    site.talops("infra", "plan", fine=differs)
    started = time.monotonic()
    site.alone("apply", "-input=false", f"-parallelism={PARALLELISM}", str(site.root / PLAN))
    alone = time.monotonic() - started
    site.talops("infra", "destroy", "--everything")
    site.talops("infra", "plan", fine=differs)
    return Took(alone, *site.applied("infra", "apply", "--parallelism", PARALLELISM))

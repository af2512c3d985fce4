"""A site that is driven from outside: talops and tofu as their users type them, and a clock."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from talops.inventory.load import load
from talops.redaction import Secret
from talops.site.layer_access import layer_variables

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

LAYER = "02-platforms/demo"
CREDENTIALS = ("proxmox_api_token_id", "proxmox_api_token_secret", "state_encryption_passphrase")


@dataclass
class Bench:
    scratch: Path
    environment: dict[str, str] = field(default_factory=lambda: dict(os.environ))

    @property
    def site(self) -> Path:
        return self.scratch / "site"

    def talops(self, *words: str, given: str = "") -> str:
        return self._run([sys.executable, "-m", "talops", *words], given)

    def tofu(self, program: str, *words: str) -> None:
        self._run([program, f"-chdir={self.site / 'infrastructure' / LAYER}", *words])

    def _run(self, command: list[str], given: str = "") -> str:
        done = subprocess.run(
            command, env=self.environment, check=False, capture_output=True, text=True, input=given
        )
        if done.returncode:
            raise RuntimeError(f"{command} ended with {done.returncode}: {done.stderr[-2000:]}")
        return done.stdout


def tofu_environment(bench: Bench, names: Sequence[str] = CREDENTIALS) -> dict[str, str]:
    """What a person exports before typing `tofu plan`; the same that talops gives it."""
    credentials = {
        name: Secret(bench.talops("secrets", "get", name, "-C", str(bench.site)).strip())
        for name in names
    }
    cluster = load(bench.site).require()
    return layer_variables(cluster, LAYER, credentials, bench.site, bench.environment)


def timed(work: Callable[[], object]) -> float:
    started = time.monotonic()
    work()
    return time.monotonic() - started

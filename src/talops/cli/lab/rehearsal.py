"""`talops upgrade --rehearse`: the same path in a lab with the same nodes, before anything real."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from talops.cli.lab.double import CA_FILE, double_of, spec_of
from talops.cli.lab.inventory import keep_credentials
from talops.cli.lab.tools import lab_tools
from talops.cli.output import note
from talops.environment import for_engine
from talops.errors import TalopsError
from talops.files import PRIVATE, make_private_directory, write_atomic
from talops.lab.world import World
from talops.plural import count

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from talops.cli.lab.double import Double
    from talops.site.site import Site

LOG = Path(".talops/rehearsal.log")
UNTOUCHED = "the cluster and cluster.yaml were not changed"
# Settings of the user for other clusters: the double has its own.
_FOREIGN = ("TF_", "TOFU_", "OTEL_", "PROXMOX_VE_", "AWS_", "PG")


async def rehearse(
    site: Site, running: Mapping[str, str], contract: str, to: Sequence[str]
) -> None:
    """Raises if a step fails; nothing outside of a temporary directory changes but the log."""
    tools = await lab_tools()
    make_private_directory(site.root / LOG.parent)
    with tempfile.TemporaryDirectory(prefix="talops-rehearsal-") as name:
        folder = Path(name)
        async with World(folder / "lab", spec_of(site.cluster), tools) as world:
            details = world.endpoints()
            double = double_of(site.cluster, running, contract, details)
            for each in double.left_out:
                note(f"! not rehearsed: {each}")
            root = folder / "site"
            _write(double, site.root, root, Path(details["ca_file"]))
            stage = _Stage(root, site.root / LOG, details["provider"]["cli_config"])
            await keep_credentials(root, details, stage.environment)
            nodes = count(len(site.cluster.nodes), "node")
            await stage.run(f"a lab of {nodes} with the running versions", "up", "--yes")
            await stage.run("the upgrade", "upgrade", *to, "--yes")
            await stage.run("that nothing is left to do", "up", "--dry-run")
    note(f"✓ the rehearsal passed; its log: {LOG}")


def _write(double: Double, source: Path, root: Path, ca: Path) -> None:
    for file in double.copies:
        target = root / file
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source / file, target)
    for file, text in {**double.files, CA_FILE: ca.read_text(encoding="utf-8")}.items():
        write_atomic(root / file, text)


class _Stage:
    """Runs talops on the double, one command after the other, and keeps what it says."""

    def __init__(self, root: Path, log: Path, cli_config: str) -> None:
        self._root = root
        self._log = log
        self._said = ""
        own = {k: v for k, v in for_engine(os.environ).items() if not k.startswith(_FOREIGN)}
        self.environment = {**own, "TF_CLI_CONFIG_FILE": cli_config, "NO_COLOR": "1"}

    async def run(self, what: str, *words: str) -> None:
        note(f"→ rehearsing {what}")
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "talops", *words),
            cwd=self._root,
            env=self.environment,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            said, _ = await process.communicate()
        finally:
            if process.returncode is None:
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                await process.wait()
        self._said += f"$ talops {' '.join(words)}\n{said.decode(errors='replace')}\n"
        write_atomic(self._log, self._said, mode=PRIVATE)
        if process.returncode:
            raise TalopsError(
                f"the rehearsal failed: {_reason(said.decode(errors='replace'))}; {UNTOUCHED}",
                where=str(self._log),
                hint="correct the cause, then run the same command again; "
                "without a rehearsal: leave --rehearse out",
            )


def _reason(said: str) -> str:
    """The error of the command, or the last thing that it said."""
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    errors = [line.removeprefix("error: ") for line in lines if line.startswith("error: ")]
    return (errors or lines or ["no output"])[-1]

"""Secrets, kubeconfig and talosconfig of every phase, killed at any step: no key in plain, and no
CA lost that a node may use.
"""

from __future__ import annotations

import asyncio
import base64
import shutil
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.crash_points import KILLED, CrashSite

from talops.machineconfig.places import SEALED
from talops.machineconfig.secrets import bundle as bundles
from talops.secrets.age import load_keys
from talops.secrets.init import init
from talops.secrets.sops import Sops

if TYPE_CHECKING:
    import random
    from collections.abc import Callable

    from talops.machineconfig.secrets.bundle import Bundle

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]
EXAMPLES = Path(__file__).parents[2] / "examples"
SAMPLE = 2
# Files that carry the key of a client, and nothing else.
CLIENTS = {"kubeconfig", "talosconfig"}
LABELS = ("EC PRIVATE KEY", "ED25519 PRIVATE KEY", "RSA PRIVATE KEY")
# All steps of both rotations but those of nodes; "sent" tells which CA a node would have then.
SCRIPT = """
import asyncio, re, shutil
from pathlib import Path
from talops.inventory.load import load
from talops.machineconfig.secrets.rotating import Rotated
from talops.pipeline.stage import Reporter
from talops.secrets.age import load_keys
from talops.secrets.sops import Sops
from talops.rotation.steps import Kind
from talops.site.site import Site
from talops.stages.rotation.rotate import Rotate

async def main():
    root = Path.cwd()
    sops = Sops(Path(shutil.which("sops")), root, load_keys(root / "age.key"))
    site = Site(load(root).require(), root, {}, {}, sops, Path(), root / "kubeconfig")
    both = [Rotated.TALOS_CA, Rotated.KUBERNETES_CA]
    stage = Rotate(site, both, Reporter("rotate", lambda _: None), restart_pods=False)
    for step in stage.plan(await stage.observe()):
        if step.kind is Kind.NODE:
            (root.parent / "sent").write_text((await site.secrets.require()).os.crt)
        elif step.kind in {Kind.SECRETS, Kind.FILES, Kind.END}:
            await stage.apply(step)

asyncio.run(main())
code = 0
"""


def opened(root: Path, sops: Path) -> Bundle:
    tool = Sops(sops, root, load_keys(root / "age.key"))
    text = asyncio.run(tool.decrypt(root / SEALED))
    return bundles.from_yaml(text, where="x")


async def prepare(root: Path, sops: Path) -> Bundle:
    for name in ("cluster.yaml", "nodes.yaml"):
        shutil.copy(EXAMPLES / "dev" / name, root / name)
    made = await init(Sops(sops, root), root / "age.key")
    bundle = bundles.generate(datetime.now(UTC))
    (root / SEALED).parent.mkdir()
    (root / SEALED).write_text(await made.sops.encrypt(bundle.to_yaml(), root / SEALED))
    return bundle


def scan(place: CrashSite, before: Bundle, now: Bundle) -> None:
    """Only client files have private keys, and those are not of a CA."""
    for label in LABELS:
        text = f"-----BEGIN {label}-----"
        coded = base64.b64encode(text.encode()).decode()[:24]
        assert place.holders(text) <= CLIENTS
        assert place.holders(coded) <= CLIENTS
    for secret in [*before.secrets(), *now.secrets()]:
        assert not secret or place.holders(secret.reveal()) == set()
    assert place.holders("AGE-SECRET-KEY-1") == {"age.key"}


@pytest.mark.parametrize(
    "every", [False, pytest.param(True, marks=pytest.mark.chaos)], ids=["sample", "everywhere"]
)
def test_killed_at_any_step(
    tool: Callable[[str], Path], tmp_path: Path, rng: random.Random, every: bool
) -> None:
    """The secrets are those of before or of after, and the next run continues with them."""
    sops, origin = tool("sops"), tmp_path / "origin"
    origin.mkdir()
    before = asyncio.run(prepare(origin, sops))

    def place(name: str) -> CrashSite:
        folder = tmp_path / name
        shutil.copytree(origin, folder / "repo")
        made = CrashSite(folder / "repo", folder, script=SCRIPT)
        made.spy("sops", sops)
        return made

    whole = place("whole")
    assert whole.run([]) == 0
    total = whole.steps
    assert total > 20
    for step in range(1, total + 1) if every else rng.sample(range(1, total + 1), SAMPLE):
        site = place(f"step{step}")
        assert site.run([], die_at=step) == KILLED, step
        now = opened(site.root, sops)
        scan(site, before, now)
        sent = site.folder / "sent"
        known = {now.os.crt, *(each.other.crt for each in now.rotations.values())}
        assert not sent.exists() or not sent.read_text() or sent.read_text() in known
        assert site.run([]) == 0
        done = opened(site.root, sops)
        scan(site, before, done)
        assert done.rotations == {}
        assert {done.os.crt, done.k8s.crt}.isdisjoint({before.os.crt, before.k8s.crt})
        shutil.rmtree(site.folder)

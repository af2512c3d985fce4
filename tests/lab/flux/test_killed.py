"""Add-ons and hand-over, killed with SIGKILL at their steps: no secret is left lying about."""

from __future__ import annotations

import asyncio
import shutil
from typing import TYPE_CHECKING

import pytest
from ruamel.yaml import YAML
from tests.crash_points import KILLED, CrashSite

from talops.kube.objects import Ref
from talops.redaction import Secret
from talops.secrets.vault import Vault

if TYPE_CHECKING:
    import random
    from collections.abc import Callable
    from pathlib import Path

    from tests.lab.flux.site import Scene

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]

SAMPLE = 2
# What the two stages create; deleted before each kill, so that it is created again.
CREATED = (
    Ref("v1", "Secret", "sops-age", "flux-system"),
    Ref("v1", "Secret", "flux-system", "flux-system"),
    Ref("v1", "Secret", "truenas-api", "democratic-csi"),
)
STAGES = """
import asyncio
from pathlib import Path
from talops.inventory.load import load
from talops.pipeline.runner import run_stages
from talops.pipeline.stage import Reporter
from talops.secrets.age import load_keys
from talops.secrets.sops import Sops
from talops.secrets.vault import Vault
from talops.stages.addons import Addons
from talops.stages.gitops import GitOps
from talops.site.site import Limits, Site

def emit(event):
    if type(event).__name__ in {"ChangeStarted", "ChangeFinished"}:
        step()

async def main(root, program):
    sops = Sops(program, root, load_keys(root / "age.key"))
    site = Site(
        cluster=load(root).require(), root=root, sops=sops, engine=Path("/nonexistent"),
        environment=dict(os.environ), credentials=await Vault.of(sops).read(),
        kubeconfig=root / "kubeconfig", limits=Limits(kubernetes=60.0, interval=0.1),
    )
    report = Reporter("stage", emit)
    stages = [Addons(site, report), GitOps(site, lambda *_: None, report)]
    result = await run_stages(stages, emit=emit)
    if result.error:
        print(result.error, file=sys.stderr)
    return result.exit_code

code = asyncio.run(main(Path.cwd(), Path(sys.argv[1])))
"""


async def prepare(scene: Scene, folder: Path, tool: Callable[[str], Path]) -> CrashSite:
    """A private repository, a chart, a NAS key: every kind of secret and every program."""
    private = scene.git.endpoints()["private_url"]
    token = scene.git.endpoints()["token"]
    scene.write_inventory(
        "repository_visibility: private\n"
        f"gitops: {{url: '{private}', ca_file: lab-ca.pem, credentials: token}}\n"
        "addons: {metrics_server: true}\n"
        "truenas: {url: 'https://nas.example', pool: tank}\n"
    )
    nas = "1-the-key-of-the-nas"
    kept = {"git_token": token, "git_username": "lab", "truenas_api_key": nas}
    await Vault.of(scene.sops).write({name: Secret(value) for name, value in kept.items()})
    await scene.init_repository()
    await scene.push(private)
    assert scene.sops.keys
    identity = scene.sops.keys.keys[0].identity.reveal()
    place = CrashSite(scene.root, folder, (identity, token, nas, await canary(scene)), STAGES)
    git = shutil.which("git")
    assert git
    for name, program in (("sops", tool("sops")), ("helm", tool("helm")), ("git", git)):
        place.spy(name, type(folder)(program))
    return place


async def canary(scene: Scene) -> str:
    (file,) = scene.root.rglob("canary.sops.yaml")
    plain = YAML(typ="safe").load(await scene.sops.decrypt(file))
    return str(plain["stringData"]["canary"])


async def run(place: CrashSite, *, die_at: int = 0) -> int:
    """In a thread: the Git server and the played Flux live in this process' loop."""
    words = [str(place.folder / "bin" / "sops")]
    return await asyncio.to_thread(place.run, words, die_at=die_at)


def assert_nothing_plain(place: CrashSite) -> None:
    identity, *others = place.secrets
    assert place.holders(identity) == {"age.key"}
    assert [place.holders(secret) for secret in others] == [set()] * len(others)


@pytest.mark.sampled("hand-over to Flux")
@pytest.mark.parametrize(
    "every", [False, pytest.param(True, marks=pytest.mark.chaos)], ids=["sample", "everywhere"]
)
async def test_killed_at_any_step(
    scene: Scene, tool: Callable[[str], Path], tmp_path: Path, rng: random.Random, every: bool
) -> None:
    """Files, temporary directories, arguments, environments; and the next run completes it."""
    place = await prepare(scene, tmp_path / "killed", tool)
    assert await run(place) == 0
    assert_nothing_plain(place)
    await take_away(scene)
    assert await run(place) == 0
    total = place.steps
    assert total > 20
    for step in range(1, total + 1) if every else rng.sample(range(1, total + 1), SAMPLE):
        await take_away(scene)
        assert await run(place, die_at=step) == KILLED, step
        assert_nothing_plain(place)
        shutil.rmtree(place.temporary)
    assert await run(place) == 0
    assert all([await scene.get(ref) for ref in CREATED])
    called = place.log.read_text(errors="replace")
    assert all(word in called for word in ("decrypt", "template", "fetch"))


async def take_away(scene: Scene) -> None:
    async with scene.kube() as kube:
        for ref in CREATED:
            await kube.delete(ref)

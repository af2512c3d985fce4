"""`talops secrets split`, while Flux follows: at every moment it can decrypt what it applies.

What Flux does with the keys is its kustomize-controller's own: it decrypts with every identity in
the entries of the Secret that end in .agekey (internal/decryptor/decryptor.go of
fluxcd/kustomize-controller).
"""

from __future__ import annotations

import asyncio
import shutil
from typing import TYPE_CHECKING

import pytest
from tests.crash_points import KILLED, CrashSite
from tests.lab.flux.test_killed import canary

from talops.delivery import following
from talops.delivery.flux_keys import SECRET as FLUX_SECRET
from talops.errors import TalopsError
from talops.events import Note
from talops.pipeline.stage import Reporter
from talops.redaction import Secret
from talops.secrets.age import AgeKey, KeyRing, load_keys
from talops.secrets.check import check_repository
from talops.secrets.cluster_key import CURRENT
from talops.secrets.rotation import encrypted_files, rotate
from talops.secrets.sops import Sops

if TYPE_CHECKING:
    import random
    from collections.abc import Callable
    from pathlib import Path

    from tests.lab.flux.site import Scene

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800)]

SAMPLE = 1
SPLIT = """
import asyncio
from pathlib import Path
from talops.inventory.load import load
from talops.pipeline.runner import run_stages
from talops.pipeline.stage import Reporter
from talops.secrets.age import load_keys
from talops.secrets.sops import Sops
from talops.secrets.vault import Vault
from talops.site.site import Limits, Site
from talops.workflows.split import split

def emit(event):
    if type(event).__name__ in {"ChangeStarted", "ChangeFinished"}:
        step()

class Record:
    def report(self, stage):
        return Reporter(stage, emit)

async def main(root, program, rotate):
    sops = Sops(program, root, load_keys(root / "age.key"))
    site = Site(
        cluster=load(root).require(), root=root, sops=sops, engine=Path("/nonexistent"),
        environment=dict(os.environ), credentials=await Vault.of(sops).read(),
        kubeconfig=root / "kubeconfig", limits=Limits(kubernetes=60.0, interval=0.1),
    )
    result = await run_stages(split(site, Record(), rotate=rotate), emit=emit)
    if result.error:
        print(result.error, file=sys.stderr)
    return result.exit_code

code = asyncio.run(main(Path.cwd(), Path(sys.argv[1]), sys.argv[2] == "rotate"))
"""


def recipients(keys: tuple[AgeKey, ...]) -> set[str]:
    return {key.recipient for key in keys}


def operator(scene: Scene) -> str:
    assert scene.sops.keys
    return scene.sops.keys.keys[0].recipient


def cluster(scene: Scene) -> str:
    return AgeKey.parse(scene.own[CURRENT].reveal()).recipient


async def opened(scene: Scene, keys: tuple[AgeKey, ...]) -> set[str]:
    """The top folders of all encrypted files that these keys open, by trying each."""
    alone = Sops(scene.sops.program, scene.root, KeyRing(keys))
    found = set()
    for file in await encrypted_files(scene.root):
        try:
            await alone.decrypt(file)
        except TalopsError:
            continue
        found.add(file.relative_to(scene.root).parts[0])
    return found


async def flux_goes_on(scene: Scene) -> None:
    """What is here, pushed as it is, is fetched, decrypted and applied with the keys it has now."""
    commit = await scene.push()
    report = Reporter("test", lambda _: None)
    async with scene.kube() as kube:
        await following.request(kube, following.GIT)
        await following.follow(kube, commit, scene.site, report)
        await following.reconciles(kube, scene.site, report)
        await following.decrypts(kube, Secret(await canary(scene)), scene.site, report)


async def old_cluster(scene: Scene) -> None:
    await scene.share_one_key()
    await scene.init_repository()
    await scene.push()
    assert (await scene.run_gitops()).error is None
    assert recipients(await scene.held()) == {operator(scene)}


def told(scene: Scene, words: str) -> bool:
    return any(isinstance(event, Note) and words in event.message for event in scene.events)


@pytest.mark.sampled("hand-over to Flux")
async def test_an_old_repository_is_moved(scene: Scene) -> None:
    """Before: the key in the cluster opens everything. After: only kubernetes/, by trying it."""
    await old_cluster(scene)
    assert await opened(scene, await scene.held()) == {"infrastructure", "kubernetes"}
    first = await scene.split()
    assert first.error is None, first.error
    assert told(scene, "proven: the key of the cluster opens 2 files in kubernetes/")
    assert told(scene, "the cluster keeps both keys")
    assert recipients(await scene.held()) == {operator(scene), cluster(scene)}
    await flux_goes_on(scene)
    second = await scene.split()
    assert second.error is None, second.error
    assert told(scene, "the cluster held your own age key")
    assert recipients(await scene.held()) == {cluster(scene)}
    assert await opened(scene, await scene.held()) == {"kubernetes"}
    await flux_goes_on(scene)
    assert await check_repository(scene.sops) == []
    for again in (await scene.split(), await scene.run_gitops()):
        assert again.error is None, again.error
        assert {stage.changes for stage in again.stages} == {()}


@pytest.mark.sampled("hand-over to Flux")
async def test_up_completes_what_split_began(scene: Scene) -> None:
    """A colleague runs `talops up` instead of the command again; a new file is included."""
    await old_cluster(scene)
    assert (await scene.split()).error is None
    assert (await scene.run_gitops()).error is None
    assert recipients(await scene.held()) == {operator(scene), cluster(scene)}
    await scene.push()
    done = await scene.run_gitops()
    assert done.error is None, done.error
    assert recipients(await scene.held()) == {cluster(scene)}
    again = await scene.run_gitops()
    assert [stage.changes for stage in again.stages] == [()]


@pytest.mark.sampled("hand-over to Flux")
async def test_both_identities_rotate(scene: Scene) -> None:
    """The cluster's own, in two runs with a push between; the operator's, without the cluster."""
    await scene.init_repository()
    await scene.push()
    assert (await scene.run_gitops()).error is None
    old = cluster(scene)
    assert (await scene.split(rotate=True)).error is None
    assert old in recipients(await scene.held())
    await flux_goes_on(scene)
    done = await scene.split()
    assert done.error is None, done.error
    assert recipients(await scene.held()) == {cluster(scene)} != {old}
    assert await check_repository(scene.sops) == []
    assert old not in (scene.root / ".sops.yaml").read_text()
    before = await scene.held()
    rotated = await rotate(scene.sops, scene.root / "age.key", lambda _: None)
    assert rotated.separate
    scene.sops = Sops(scene.sops.program, scene.root, load_keys(scene.root / "age.key"))
    await flux_goes_on(scene)
    assert await scene.held() == before
    assert await opened(scene, before) == {"kubernetes"}


@pytest.mark.sampled("hand-over to Flux")
@pytest.mark.parametrize("rotating", [False, True], ids=["split", "rotate"])
@pytest.mark.parametrize(
    "every", [False, pytest.param(True, marks=pytest.mark.chaos)], ids=["sample", "everywhere"]
)
async def test_killed_at_any_step(
    scene: Scene,
    tool: Callable[[str], Path],
    tmp_path: Path,
    rng: random.Random,
    every: bool,
    rotating: bool,
) -> None:
    """Whatever is pushed after a death, Flux applies it; repeated, the command completes."""
    place = await begun(scene, tmp_path / "killed", tool, rotating=rotating)
    word = "rotate" if rotating else "split"
    origin = tmp_path / "origin"
    shutil.copytree(scene.root, origin)
    assert await run(place, word) == 0
    total = place.steps
    assert total > 10
    for step in range(1, total + 1) if every else rng.sample(range(1, total + 1), SAMPLE):
        await back(scene, origin)
        assert await run(place, word, die_at=step) == KILLED, step
        await scene.read_own()
        assert_nothing_plain(scene, place)
        await flux_goes_on(scene)
        for _ in range(2):
            assert await run(place, word if not rotating else "split") == 0
            await scene.read_own()
            await flux_goes_on(scene)
        assert await run(place, "split") == 0
        assert recipients(await scene.held()) <= {cluster(scene)}
        assert await opened(scene, await scene.held()) == {"kubernetes"}
        assert_nothing_plain(scene, place)


async def begun(
    scene: Scene, folder: Path, tool: Callable[[str], Path], *, rotating: bool
) -> CrashSite:
    if rotating:
        await scene.init_repository()
        await scene.push()
        assert (await scene.run_gitops()).error is None
    else:
        await old_cluster(scene)
    assert scene.sops.keys
    place = CrashSite(scene.root, folder, (scene.sops.keys.keys[0].identity.reveal(),), SPLIT)
    place.spy("sops", tool("sops"))
    return place


async def back(scene: Scene, origin: Path) -> None:
    """Files and cluster as they were before the first run."""
    commits = scene.root / ".git"
    for path in scene.root.iterdir():
        if path != commits:
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    shutil.copytree(origin, scene.root, dirs_exist_ok=True, ignore=shutil.ignore_patterns(".git"))
    await scene.read_own()
    await scene.push()
    async with scene.kube() as kube:
        await kube.delete(FLUX_SECRET)
    assert (await scene.run_gitops()).error is None


async def run(place: CrashSite, word: str, *, die_at: int = 0) -> int:
    """In a thread: the Git server and the played Flux live in this process' loop."""
    words = [str(place.folder / "bin" / "sops"), word]
    return await asyncio.to_thread(place.run, words, die_at=die_at)


def assert_nothing_plain(scene: Scene, place: CrashSite) -> None:
    assert place.holders("AGE-SECRET-KEY-1") == {"age.key"}
    for value in scene.own.values():
        assert place.holders(value.reveal()) == set()

"""Stopped after any step, a run leaves no secret in a file, and the next one completes it."""

from __future__ import annotations

import tempfile
from typing import TYPE_CHECKING

import pytest
from tests.leftovers import leftovers

from talops.events import ChangeFinished
from talops.kube.objects import Ref
from talops.pipeline.interrupt import Interruption
from talops.pipeline.result import RunStatus
from talops.pipeline.runner import run_stages
from talops.pipeline.stage import Reporter
from talops.secrets.age import load_keys
from talops.secrets.cluster_key import CURRENT
from talops.secrets.rotation import rotate
from talops.stages.gitops import FOLLOW, GitOps

if TYPE_CHECKING:
    from pathlib import Path

    from tests.lab.flux.site import Scene

    from talops.events import Event

pytestmark = pytest.mark.slow

KEY = Ref("v1", "Secret", "sops-age", "flux-system")


async def interrupted_after(
    scene: Scene, number: int, finished: list[tuple[str, str]]
) -> RunStatus:
    """Run the stage and ask it to stop right after its n-th change; `finished` gets its changes."""
    interruption = Interruption()
    seen: list[Event] = []

    def emit(event: Event) -> None:
        seen.append(event)
        if isinstance(event, ChangeFinished):
            finished.append((event.action, event.target))
        if sum(isinstance(e, ChangeFinished) for e in seen) == number:
            interruption.request()

    stage = GitOps(scene.site, lambda *_: None, Reporter("gitops", emit))
    return (await run_stages([stage], emit=emit, interruption=interruption)).status


def holders(secret: str, *places: Path) -> set[str]:
    """Names of the files that hold the secret."""
    return {file.path.name for file in leftovers(*places) if secret.encode() in file.content}


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where this test alone, and every program that it starts, keeps what is temporary."""
    folder = tmp_path / "tmp"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    monkeypatch.setenv("TMPDIR", str(folder))
    return folder


@pytest.mark.sampled("hand-over to Flux")
async def test_one_step_at_a_time(scene: Scene, temporary: Path) -> None:
    """Every step survives being the last one."""
    await scene.init_repository()
    await scene.push()
    assert scene.sops.keys
    secret = scene.sops.keys.keys[0].identity.reveal()
    own = scene.own[CURRENT].reveal()
    finished: list[tuple[str, str]] = []
    # Each round does one step more than the last, so the stage runs out of them.
    while await interrupted_after(scene, 1, finished) is RunStatus.INTERRUPTED:
        assert len(finished) < 10
        assert holders(secret, scene.root, temporary) == {"age.key"}
        assert holders(own, scene.root, temporary) == set()
    # Flux fetches between two rounds, or on request.
    steps = [change for change in finished if change[0] != FOLLOW]
    assert len(steps) == len(set(steps)) == 5, finished
    result = await scene.run_gitops()
    assert result.error is None, result.error
    assert [stage.changes for stage in result.stages] == [()]


@pytest.mark.sampled("hand-over to Flux")
async def test_a_rotated_key_follows_into_the_cluster(scene: Scene) -> None:
    """Without a key of its own, the cluster gets the new one; the old opens nothing any more."""
    await scene.share_one_key()
    await scene.init_repository()
    await scene.push()
    assert (await scene.run_gitops()).error is None
    before = await scene.get(KEY)
    await rotate(scene.sops, scene.root / "age.key", lambda _: None)
    keys = load_keys(scene.root / "age.key")
    assert keys
    old, scene.sops = scene.sops, type(scene.sops)(scene.sops.program, scene.root, keys)
    commit = await scene.push()
    result = await scene.run_gitops()
    assert result.error is None, result.error
    after = await scene.get(KEY)
    assert before
    assert after
    assert before["data"] != after["data"]
    source = await scene.get(
        Ref("source.toolkit.fluxcd.io/v1", "GitRepository", "flux-system", "flux-system")
    )
    assert source
    assert commit in source["status"]["artifact"]["revision"]
    scene.sops = old
    refused = await scene.run_gitops()
    assert refused.error
    assert await scene.get(KEY) == after

"""Each right that `host prepare` grants, revoked: named by `host check`, and something breaks.

Which call needs which right is Proxmox' own, not the lab's to say: see tests/tofu/lives.py.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.tofu.whole_sites import KINDS, begun, give_back

from talops.errors import TalopsError
from talops.proxmox.check import look, problems

if TYPE_CHECKING:
    import random
    from pathlib import Path

    from tests.real_provider import Programs

    from talops.proxmox.check.problem import HostProblem

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1200)]
MATRIX = [(kind, *grant) for kind in KINDS for grant in KINDS[kind].grants()]
SAMPLE = 2


@pytest.mark.sampled("rights")
@pytest.mark.parametrize("kind", KINDS)
async def test_the_prepared_token_lives_a_whole_life(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, programs: Programs
) -> None:
    """Nothing is missing: three layers, a template, clones and a GPU, changed and removed."""
    async with begun(tmp_path, KINDS[kind], monkeypatch, programs) as life:
        found = problems(life.wanted, await look(life.access(), life.wanted))
        # The template is still to be built.
        assert [each for each in found if each.rule != "template"] == []
        await KINDS[kind].live(life)


@pytest.mark.sampled("rights")
async def test_what_a_missing_right_left_half_made_is_repaired(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, programs: Programs
) -> None:
    """Recorded from a real host: VMs are created and started, then their disks cannot be read, and
    the state keeps them tainted, without the slots of their disks.
    """
    right = ("/storage/local-lvm", "Datastore.Audit")
    async with begun(tmp_path, KINDS["clones"], monkeypatch, programs, right) as life:
        await life.build_template()
        for _ in range(2):
            with pytest.raises(TalopsError, match=r"Datastore\.Audit"):
                await life.apply()
        give_back(life.world, *right)
        await life.apply()
        assert sorted(life.home.vms) == ["demo-cp-1", "demo-w-1"]


@pytest.mark.chaos
@pytest.mark.parametrize(("kind", "path", "privilege"), MATRIX, ids=str)
async def test_no_right_is_granted_in_vain(
    kind: str,
    path: str,
    privilege: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    programs: Programs,
) -> None:
    """The whole matrix."""
    await breaks_without(kind, path, privilege, (tmp_path, monkeypatch, programs))


async def test_a_sample_of_the_matrix(
    rng: random.Random, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, programs: Programs
) -> None:
    """Other rights each time; SEED repeats a run."""
    for number, (kind, path, privilege) in enumerate(rng.sample(MATRIX, SAMPLE)):
        with monkeypatch.context() as patch:
            folder = tmp_path / str(number)
            folder.mkdir()
            await breaks_without(kind, path, privilege, (folder, patch, programs))


async def breaks_without(
    kind: str, path: str, privilege: str, place: tuple[Path, pytest.MonkeyPatch, Programs]
) -> None:
    folder, patch, programs = place
    async with begun(folder, KINDS[kind], patch, programs, (path, privilege)) as life:
        found = problems(life.wanted, await look(life.access(), life.wanted))
        assert names(found, path, privilege), (path, privilege, found)
        if (path.rpartition("/")[0], privilege) == ("/nodes", "Sys.Audit"):
            # For the check itself: without it the check cannot know whether the VMs fit.
            assert "memory" in [each.rule for each in found]
            return
        with pytest.raises(TalopsError):
            await KINDS[kind].live(life)


def names(found: list[HostProblem], path: str, privilege: str) -> bool:
    here = [each for each in found if each.rule == "privilege" and each.where == path]
    return any(f"{privilege} (" in each.what for each in here)

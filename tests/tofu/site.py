"""A small cluster in a lab of its own, planned and applied in this process."""

from __future__ import annotations

from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tests.tofu.home import open_world, settle, token_of

from talops.inventory.load import load
from talops.lab.sample import LabInventory
from talops.render.tree import render
from talops.site.layer_access import layer_applier
from talops.tofu.apply_options import ApplyOptions
from talops.tofu.policy import Policy

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    import pytest
    from tests.real_provider import Programs
    from tests.tofu.home import Home

    from talops.lab.spec import LabSpec
    from talops.tofu.apply import Applier
    from talops.tofu.judge import Judged

# As many attempts as usual, without the pauses.
PAUSES = (0.0, 0.0, 0.0)


@dataclass(frozen=True)
class Site:
    """The platform layer of a home."""

    home: Home

    def applier(self, policy: Policy | None = None, *, destroy: bool = False) -> Applier:
        """A new one each time: as a new run has it."""
        run, (layer,) = self.home.run, self.home.run.layers
        conduct = ApplyOptions(policy or Policy(), destroy=destroy, pauses=PAUSES)
        return layer_applier(run.root, run.engine(layer), run.variables(layer), conduct)

    async def judged(self) -> dict[str, Judged]:
        """What a plan would do, by name."""
        run, (layer,) = self.home.run, self.home.run.layers
        saved = run.saved(layer)
        if not await run.engine(layer).plan(saved):
            return {}
        return {change.name: change for change in (await self.applier().judged(saved))[1]}

    async def apply(self, policy: Policy | None = None, *, destroy: bool = False) -> None:
        """As `infra apply-auto` does it, with the check for drift at the end."""
        run, (layer,) = self.home.run, self.home.run.layers
        saved = run.saved(layer)
        if not await run.engine(layer).plan(saved, destroy=destroy):
            return
        await self.applier(policy, destroy=destroy).apply(saved)
        if not destroy:
            await self.applier().no_drift(saved)

    async def destroy(self) -> None:
        await self.apply(Policy(everything=True), destroy=True)


@asynccontextmanager
async def small_site(
    folder: Path,
    programs: Programs,
    patch: pytest.MonkeyPatch,
    spec: LabSpec,
    *,
    control_planes: int = 1,
    workers: int = 0,
) -> AsyncIterator[Site]:
    async with open_world(folder, spec, patch, programs) as world:
        root = folder / "site"
        root.mkdir()
        inventory = LabInventory("demo", control_planes, workers, gpu_workers=0, subnet=16)
        for name, text in inventory.files(world.endpoints()).items():
            (root / name).write_text(text, encoding="utf-8")
        for where, text in render(load(root).require(), encrypted=False).items():
            (root / where).parent.mkdir(parents=True, exist_ok=True)
            (root / where).write_text(text, encoding="utf-8")
        async with settle(world, root, programs, patch, token_of(world)) as home:
            yield Site(home)

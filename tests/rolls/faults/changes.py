"""What is rolled through the cluster while something fails: edits of the files, and the stages."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

from talops.pipeline.runner import Options, run_stages
from talops.pipeline.stage import Reporter
from talops.rolls.rolling import Rolling as Shared
from talops.site.secrets_file import SecretsFile
from talops.stages.apply_config import ApplyConfig
from talops.stages.membership.return_nodes import ReturnNodes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tests.rolls.faults.world import World

    from talops.pipeline.result import RunResult
    from talops.pipeline.stage import AnyStage
    from talops.rolls.options import RollOptions
    from talops.site.site import Limits

# Its installers have exit codes of their own, unlike those of 1.13.
TALOS = "v1.14.1"
FIRST_PATCH = 1  # of Kubernetes 1.36


class Kind(Protocol):
    """`restarts`: every node of the change restarts once."""

    restarts: bool

    def edit(self, world: World, nodes: Sequence[str]) -> None:
        """Change the inventory, so that the next run has something to do on these nodes."""
        ...

    async def run(self, world: World, limits: Limits, options: RollOptions) -> RunResult:
        """As `up` does it."""
        ...


class Talos(Kind):
    """Another schematic is an upgrade of each node alone, as often as wanted."""

    restarts = True

    def edit(self, world: World, nodes: Sequence[str]) -> None:
        for name in nodes:
            world.given[name] = "" if world.given.get(name) else "siderolabs/btrfs"
            world.extensions(name, world.given[name])

    async def run(self, world: World, limits: Limits, options: RollOptions) -> RunResult:
        return await world.up(limits, options)


class Kubernetes(Kind):
    """One patch release after the other."""

    restarts = False

    def edit(self, world: World, nodes: Sequence[str]) -> None:
        world.patch += 1
        world.want(TALOS, kubernetes=f"v1.36.{world.patch}")

    async def run(self, world: World, limits: Limits, options: RollOptions) -> RunResult:
        return await world.up(limits, options)


class Configs(Kind):
    """Another environment of Talos' services takes effect in the next boot."""

    restarts = True

    def edit(self, world: World, nodes: Sequence[str]) -> None:
        world.value += 1
        file = world.cluster.lab.root / "cluster.yaml"
        key = "worker_patches" if "w-1" in nodes else "controller_patches"
        kept = [x for x in file.read_text().splitlines() if not x.startswith(key)]
        patch = f"{{machine: {{env: {{GRPC_GO_LOG_VERBOSITY_LEVEL: '{world.value}'}}}}}}"
        file.write_text("\n".join([*kept, f"{key}: [{patch}]"]) + "\n")

    async def run(self, world: World, limits: Limits, options: RollOptions) -> RunResult:
        site = replace(world.cluster.site, limits=limits)
        secrets, shared = SecretsFile(site, lambda *_: None), Shared(site, options)
        emit = world.cluster.events.append
        world.cluster.events.clear()
        stages: list[AnyStage] = [
            ApplyConfig(site, secrets, Reporter("apply-config", emit), rolling=shared),
            ReturnNodes(site, secrets, Reporter("return", emit), shared),
        ]
        return await run_stages(stages, emit=emit, options=Options(max_parallel=10))


UPGRADE, KUBERNETES, CONFIGS = Talos(), Kubernetes(), Configs()

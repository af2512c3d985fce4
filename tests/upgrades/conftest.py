"""A running cluster of the lab, and the stage that upgrades it."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tests.rolls.conftest import rolling  # noqa: F401  (a fixture)

from talops.pipeline.runner import Options, run_stages
from talops.pipeline.stage import Reporter
from talops.rolls.options import DEFAULT
from talops.rolls.rolling import Rolling as Shared
from talops.site.secrets_file import SecretsFile
from talops.site.site import Limits
from talops.stages.membership.return_nodes import ReturnNodes
from talops.stages.upgrade import Upgrade

if TYPE_CHECKING:
    from tests.rolls.conftest import Rolling

    from talops.events import Emit
    from talops.lab.talos.machine.faults import Faults
    from talops.pipeline.result import RunResult
    from talops.pipeline.stage import AnyStage
    from talops.rolls.options import RollOptions
    from talops.site.site import Site

# A busy machine is not a reason to give up: only faults are.
PATIENT = Limits(boot=180.0, install=180.0, etcd=180.0, kubernetes=180.0, interval=0.1)


def stages_of(site: Site, emit: Emit, options: RollOptions = DEFAULT) -> list[AnyStage]:
    secrets, shared = SecretsFile(site, lambda *_: None), Shared(site, options)
    return [
        Upgrade(site, secrets, Reporter("upgrade", emit), shared),
        ReturnNodes(site, secrets, Reporter("return", emit), shared),
    ]


class Upgrading:
    """What an operator does: edit cluster.yaml, run `up`, and look at the nodes."""

    def __init__(self, cluster: Rolling) -> None:
        self.cluster = cluster

    def want(self, talos: str, kubernetes: str = "") -> None:
        """Without `kubernetes`: the version that is wanted already."""
        file = self.cluster.lab.root / "cluster.yaml"
        given = {
            "talos_version": talos,
            **({"kubernetes_version": kubernetes} if kubernetes else {}),
        }
        lines = file.read_text(encoding="utf-8").splitlines()
        kept = [line for line in lines if line.partition(":")[0] not in given]
        kept += [f"{key}: {version}" for key, version in given.items()]
        file.write_text("\n".join(kept) + "\n", encoding="utf-8")

    def extensions(self, node: str, *names: str) -> None:
        """Another schematic for this node alone."""
        file = self.cluster.lab.root / "nodes.yaml"
        text = re.sub(rf"(name: {node},)( extensions: \[[^]]*\],)?", r"\1", file.read_text())
        given = f" extensions: [{', '.join(filter(None, names))}],"
        file.write_text(text.replace(f"name: {node},", f"name: {node},{given}"), encoding="utf-8")

    async def up(
        self, limits: Limits = PATIENT, options: RollOptions = DEFAULT, **more: Any
    ) -> RunResult:
        """The stages that upgrade and return nodes, as `up` runs them."""
        site = replace(self.cluster.site, limits=limits, **more)
        emit = self.cluster.events.append
        self.cluster.events.clear()
        stages = stages_of(site, emit, options)
        return await run_stages(stages, emit=emit, options=Options(max_parallel=10))

    def fault(self, name: str, faults: Faults | None = None) -> None:
        """Without faults: those of this node end."""
        book = self.cluster.lab.lab.host.faults
        if faults is None:
            book.clear(name)
        else:
            book.set(name, faults)

    def versions(self) -> dict[str, str]:
        lab = self.cluster.lab.lab
        return {name: lab.node(name).version for name in lab.machines}

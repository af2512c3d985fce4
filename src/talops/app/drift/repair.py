"""The repairs of `drift --fix`: the non-disruptive part of each layer's own stage."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from talops.app.drift.kubernetes import LABEL, TAINT
from talops.app.drift.talos import only
from talops.checks.after.nodes import wrong_labels, wrong_taints
from talops.checks.after.reach import Reach
from talops.errors import TalopsError
from talops.kube.objects import Ref
from talops.pipeline.stage import Change, Reporter, Stage
from talops.site.node_facts import UPDATE
from talops.site.secrets_file import SecretsFile
from talops.stages.addons import Addons
from talops.stages.apply_config import ApplyConfig
from talops.stages.configure import Configure
from talops.stages.gitops import GitOps
from talops.stages.provision import Provision
from talops.stages.storage import Storage
from talops.tofu.rules import Effect

if TYPE_CHECKING:
    from collections.abc import Sequence

    from talops.app.drift.model import AreaDrift, Difference
    from talops.delivery.objects import ObjectChange
    from talops.kube.objects import Object
    from talops.pipeline.session import Recorder
    from talops.pipeline.stage import AnyStage, Seen
    from talops.site import node_facts
    from talops.site.site import Site
    from talops.stages import addons, gitops, provision


def repairable(results: Sequence[AreaDrift]) -> bool:
    """Whether `repairs` returns any stage."""
    found = {result.layer: result.differences for result in results}
    files = found.get("files", ())
    proxmox = [d for d in found.get("proxmox", ()) if not d.foreign]
    return bool(
        (files and all(d.safe for d in files))
        or (proxmox and not files and all(d.safe for d in proxmox))
        or any(d.safe for d in found.get("storage", ()))
        or quiet_nodes(found.get("talos", ()))
        or marked(found.get("kubernetes", ()))
        or gentle_stages(found.get("kubernetes", ()))
    )


def repairs(site: Site, recorder: Recorder, results: Sequence[AreaDrift]) -> list[AnyStage]:
    """The stages for safe repairs.

    A layer that depends on files to be written is repaired in the next run.
    """
    secrets = SecretsFile(site, recorder.learn)
    recorder.learn(*site.credentials.values())

    def report(name: str) -> Reporter:
        return Reporter(name, recorder.emit)

    found = {result.layer: result.differences for result in results}
    stages: list[AnyStage] = []
    files = found.get("files", ())
    if files and all(d.safe for d in files):
        stages.append(Configure(site, secrets, report("configure")))
    # A foreign disk is part of no plan; a plan that would change it is not an online one.
    proxmox = [d for d in found.get("proxmox", ()) if not d.foreign]
    if proxmox and not files and all(d.safe for d in proxmox):
        stages.append(OnlineProvision(site, secrets, report("provision")))
    if any(d.safe for d in found.get("storage", ())):
        stages.append(Storage(site, report("storage")))
    nodes = quiet_nodes(found.get("talos", ()))
    if nodes:
        chosen = only(site, nodes)
        stages.append(OnlineConfig(chosen, secrets, report("apply-config")))
    inside = found.get("kubernetes", ())
    if marked(inside):
        stages.append(NodeLabels(Reach(site, secrets)))
    gentle = gentle_stages(inside)
    if "addons" in gentle:
        stages.append(GentleAddons(site, report("addons")))
    if "gitops" in gentle:
        stages.append(GentleGitOps(site, recorder.learn, report("gitops")))
    return stages


def marked(differences: Sequence[Difference]) -> bool:
    """Whether a node lacks a label or taint that can be set without side effects."""
    return any(d.safe and d.attribute.startswith((LABEL, TAINT)) for d in differences)


def gentle_stages(differences: Sequence[Difference]) -> set[str]:
    """The stages `addons` and `gitops`, if none of their differences touches a running object."""
    by_stage = {
        stage: [d.safe for d in differences if d.attribute == stage]
        for stage in ("addons", "gitops")
    }
    return {stage for stage, safe in by_stage.items() if safe and all(safe)}


def quiet_nodes(differences: Sequence[Difference]) -> list[str]:
    """Nodes whose differences can all be repaired without a restart."""
    loud = {d.target for d in differences if not d.safe}
    return list(dict.fromkeys(d.target for d in differences if d.target not in loud))


class OnlineProvision(Provision):
    """Only layers in which no change restarts, replaces or removes anything."""

    def plan(self, facts: provision.Facts) -> list[provision.LayerChange]:
        gentle = {
            name
            for name, judged in facts.layers.items()
            if judged is not None and all(change.effect <= Effect.ONLINE for change in judged)
        }
        return [change for change in super().plan(facts) if change.layer in gentle]


class OnlineConfig(ApplyConfig):
    """Only configs that the node applies without a reboot."""

    def plan(self, facts: node_facts.Facts) -> list[node_facts.ConfigChange]:
        changes = super().plan(facts)
        return [c for c in changes if c.action == UPDATE and not c.reboots]


class GentleAddons(Addons):
    """Only creates missing objects; never changes a running one."""

    def plan(self, facts: addons.Facts) -> list[ObjectChange]:
        return [change for change in super().plan(facts) if change.gentle]


class GentleGitOps(GitOps):
    """Only what is missing, and the keys and credentials of Flux."""

    def plan(self, facts: gitops.Facts) -> list[ObjectChange]:
        return [change for change in super().plan(facts) if change.gentle]


@dataclass(frozen=True)
class LabelFacts:
    nodes: dict[str, Object]


@dataclass(frozen=True)
class LabelChange(Change):
    labels: tuple[tuple[str, str], ...] = ()
    taints: tuple[str, ...] = ()


class NodeLabels(Stage[LabelFacts, LabelChange]):
    """Set the labels and taints that were removed from a node."""

    name = "node-marks"
    independent = True

    def __init__(self, reach: Reach) -> None:
        self._reach = reach

    async def observe(self) -> LabelFacts:
        return LabelFacts(await self._reach.kube_nodes())

    def plan(self, facts: LabelFacts) -> list[LabelChange]:
        cluster = self._reach.site.cluster
        found = []
        for node in cluster.nodes:
            seen = facts.nodes.get(node.name)
            if seen is None:
                continue
            labels = tuple((key, node.labels[key]) for key in wrong_labels(node, seen))
            taints = tuple(wrong_taints(cluster, node, seen)[0])
            if labels or taints:
                detail = ", ".join([*(key for key, _ in labels), *taints])
                found.append(LabelChange("mark", node.name, detail, node.name, labels, taints))
        return found

    async def apply(self, change: LabelChange) -> None:
        ref = Ref("v1", "Node", change.target)
        async with self._reach.kube() as kube:
            seen = await kube.get(ref)
            if seen is None:
                raise TalopsError(f"node {change.target} does not exist in Kubernetes any more")
            present = (seen.get("spec") or {}).get("taints") or []
            body: Object = {"metadata": {"labels": dict(change.labels)}}
            if change.taints:
                body["spec"] = {"taints": [*present, *map(taint_of, change.taints)]}
            await kube.merge(ref, body)

    async def verify(self, _: Seen[LabelFacts, LabelChange], /) -> None:
        left = self.plan(await self.observe())
        if left:
            raise TalopsError(f"still differs from the inventory: {left[0]}", where=left[0].target)


def taint_of(text: str) -> Object:
    name, _, effect = text.rpartition(":")
    key, _, value = name.partition("=")
    return {"key": key, "effect": effect, **({"value": value} if value else {})}

"""Differences between the layers: facts in, rows out."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from tests.examples import kube_nodes

from talops.app.drift import files, kubernetes, proxmox, talos
from talops.app.drift.model import AreaDrift, Difference, looked, masked
from talops.app.drift.repairs import quiet_nodes, repairs
from talops.app.drift.values import leaves
from talops.delivery.objects import ObjectDifferences
from talops.errors import TalopsError, UnreachableError
from talops.generated import Action, Change
from talops.inventory.sections import Addons
from talops.machineconfig.contract import Contract
from talops.machineconfig.generate import generate
from talops.machineconfig.kubernetes_images import Component, Held
from talops.machineconfig.request import ClusterRequest, NodeRequest
from talops.machineconfig.secrets import pem
from talops.machineconfig.secrets.pki import Pair
from talops.redaction import Redactor, Secret
from talops.site.fleet import Configured, InMaintenance
from talops.site.node_facts import NodeFacts
from talops.stages.addons import Addons as AddonStage
from talops.stages.addons import Facts as AddonFacts
from talops.stages.provision import Facts as PlanFacts
from talops.stages.repair.node_labels import taint_of
from talops.stages.repair.online import GentleAddons
from talops.talos.calls.machine import ApplyMode
from talops.tofu.judge import Cause, Judged
from talops.tofu.rules import Effect

if TYPE_CHECKING:
    from tests.examples import Example

    from talops.inventory.model import Cluster
    from talops.machineconfig.secrets.bundle import Bundle


@pytest.mark.parametrize(
    ("change", "actual", "safe"),
    [
        (Change("a.tf", Action.CREATE, "", "x\n"), "missing", True),
        (Change("a.tf", Action.REMOVE, "x\n", ""), "left over", True),
        (
            Change("a.tf", Action.UPDATE, "x\nz\n", "y\n"),
            "from an earlier inventory: 2 extra lines, 1 missing",
            True,
        ),
        (
            Change("a.tf", Action.UPDATE, "x\n", "y\n", edited=True),
            "edited by hand: 1 extra line, 1 missing",
            False,
        ),
    ],
)
def test_files(change: Change, actual: str, safe: bool) -> None:
    """What a user wrote by hand is never overwritten by --fix."""
    found = files.difference(change)
    assert (found.actual, found.safe) == (actual, safe)
    assert ("--force" in found.command) != safe


def judged(effect: Effect, *causes: Cause) -> Judged:
    return Judged("module.x", "cp-1", "proxmox_virtual_environment_vm", "", effect, causes)


MEMORY = Cause("memory.dedicated", Effect.RESTARTS, 2048, 4096)
TAGS = Cause("tags", Effect.ONLINE, None, "['a']")


@pytest.mark.parametrize(
    ("change", "rows"),
    [
        (judged(Effect.CREATES), [("exists", "yes", "no", "creates", False)]),
        (judged(Effect.DESTROYS), [("exists", "no", "yes", "destroys", False)]),
        (
            judged(Effect.RESTARTS, MEMORY, TAGS),
            [
                ("memory.dedicated", "4096", "2048", "restarts", False),
                ("tags", "['a']", "nothing", "online", False),
            ],
        ),
        (judged(Effect.ONLINE, TAGS), [("tags", "['a']", "nothing", "online", True)]),
        (judged(Effect.RESTARTS), [("plan", "no changes", "changes", "restarts", False)]),
    ],
)
def test_plans(change: Judged, rows: list[tuple[object, ...]]) -> None:
    """Both values of every attribute; safe only if the whole change is."""
    found = proxmox.planned("02-platforms/x", [change])
    assert [(d.attribute, d.wanted, d.actual, d.impact, d.safe) for d in found] == rows


def test_commands_name_what_they_may_replace() -> None:
    """So that they can be typed as they stand."""
    (row,) = proxmox.planned("02", [judged(Effect.REPLACES, Cause("node", Effect.REPLACES))])
    assert row.command == "talops infra apply-auto --layer 02 --allow-replace cp-1"


def test_layers_behind_others_are_not_hidden() -> None:
    """A difference of layer 01 hides neither those of 02, nor that 03 could not be planned."""
    first, second = (judged(Effect.ONLINE, TAGS),), (judged(Effect.RESTARTS, MEMORY),)
    facts = PlanFacts({"01": first, "02": None, "03": None}, ahead={"02": second})
    assert proxmox.whole(facts) == {"01": first, "02": second}


def test_disks_that_talops_did_not_create(example: Example) -> None:
    """A difference, unless the CSI plugin puts such disks there."""
    dev = example("dev")
    disks = {dev.nodes[0].name: frozenset({"scsi0", "scsi3"})}
    (found,), _ = proxmox.unmanaged(dev, disks)
    assert (found.attribute, found.safe) == ("disk.scsi3", False)
    csi = replace(dev, addons=Addons(proxmox_csi=True))
    none, notes = proxmox.unmanaged(csi, disks)
    assert not none
    assert "scsi3" in notes[0]


RUNNING = """\
machine:
  token: abc.def
  kubelet: {image: kubelet:v1.36.0}
  nodeLabels: {zone: a}
  files: [{path: /x, content: mine}]
cluster: {id: one}
---
apiVersion: v1alpha1
kind: HostnameConfig
hostname: old
"""
WANTED = """\
machine:
  token: ghi.jkl
  kubelet: {image: kubelet:v1.36.1}
  nodeLabels: {zone: b}
  files: [{path: /x, content: yours}]
cluster: {id: one}
---
apiVersion: v1alpha1
kind: HostnameConfig
hostname: new
"""


def test_configs_leaf_by_leaf() -> None:
    """Paths and values; what may be secret is masked on both sides."""
    assert leaves(RUNNING, WANTED) == [
        ("machine.token", "***", "***"),
        ("machine.kubelet.image", "kubelet:v1.36.1", "kubelet:v1.36.0"),
        ("machine.nodeLabels.zone", "b", "a"),
        ("machine.files", "***", "***"),
        ("HostnameConfig.hostname", "new", "old"),
    ]
    assert leaves(WANTED, WANTED) == []


@pytest.mark.parametrize("contract", list(Contract))
def test_no_secret_is_shown(bundle: Bundle, contract: Contract) -> None:
    """All secrets of a cluster replaced: every one of them differs, and none is to be read."""
    cluster = ClusterRequest("demo", contract, "https://10.5.0.10:6443", "1.36.3")
    node = NodeRequest("cp-1", control_plane=True, installer="installer:v1", disk="/dev/vda")
    hidden = Secret(pem.one_line(b"other key"))
    pair = Pair(pem.one_line(b"other certificate"), hidden)
    pairs = dict.fromkeys(("etcd", "k8s", "aggregator", "os"), pair)
    names = ("cluster_secret", "bootstrap_token", "trustd_token", "service_account", "secretbox")
    secrets: dict[str, Any] = {**pairs, **dict.fromkeys(names, hidden)}
    other = replace(bundle, cluster_id="other id", **secrets)
    before, after = (generate(cluster, node, each).to_yaml() for each in (bundle, other))
    found = leaves(before, after)
    assert len(found) >= 10
    assert {text for _, *texts in found for text in texts} == {"***"}


@pytest.mark.parametrize(
    ("facts", "impacts", "safe"),
    [
        (NodeFacts(InMaintenance(), same=False), ["restarts"], False),
        (NodeFacts(Configured(WANTED, None), same=True), [], False),
        (NodeFacts(Configured(RUNNING, None), False, ApplyMode.REBOOT), ["restarts"] * 5, False),
        (NodeFacts(Configured(RUNNING, None), False, ApplyMode.NO_REBOOT), ["online"] * 5, True),
        (NodeFacts(Configured("", None), False, ApplyMode.NO_REBOOT), ["online"] * 2, True),
    ],
)
def test_machine_configs(facts: NodeFacts, impacts: list[str], safe: bool) -> None:
    """The node itself said whether it would reboot."""
    found = talos.judge("cp-1", replace(facts, wanted=WANTED))
    assert [d.impact for d in found] == impacts
    assert all(d.safe == safe for d in found)


@pytest.mark.parametrize(
    ("running", "command"),
    [
        ("v1.35.4", "talops up"),
        ("v1.36.2", "set kubernetes_version: v1.36.2 in cluster.yaml"),
    ],
)
def test_a_version_is_a_difference_of_its_own(running: str, command: str) -> None:
    """Only an upgrade raises it, nothing lowers it, and it does not stop a repair of the rest."""
    held = (Held(Component.KUBELET, "v1.36.1", running),)
    (found,) = talos.judge("cp-1", NodeFacts(Configured(WANTED, None), same=True, held=held))
    assert (found.attribute, found.wanted, found.actual) == ("kubelet", "v1.36.1", running)
    assert (found.impact, found.command, found.safe) == ("upgrades", command, False)
    assert quiet_nodes([found]) == []
    assert quiet_nodes([found, _row("cp-1", safe=True)]) == ["cp-1"]


def test_kubernetes_as_written(example: Example) -> None:
    """Nothing to say about nodes that are right."""
    ha = example("ha")
    seen = kube_nodes(ha)
    for node in seen.values():
        node["status"]["nodeInfo"] = {"kubeletVersion": ha.kubernetes_version}
    assert kubernetes.judge(ha, seen) == []
    del seen["ha-w-1"]["metadata"]["labels"]["example.com/zone"]
    seen["ha-cp-1"]["spec"]["taints"] = []
    seen["ha-w-2"]["spec"]["unschedulable"] = True
    seen["ha-w-3"]["status"]["nodeInfo"] = {"kubeletVersion": "v1.0.0"}
    seen["stranger"] = seen["ha-w-1"]
    rows = [(d.target, d.attribute, d.safe) for d in kubernetes.judge(ha, seen)]
    assert rows == [
        ("ha-cp-1", "taint node-role.kubernetes.io/control-plane:NoSchedule", True),
        ("ha-w-1", "label example.com/zone", True),
        ("ha-w-2", "schedulable", False),
        ("ha-w-3", "kubelet", False),
        ("stranger", "exists", False),
    ]
    assert _kubelet(ha, seen) == ("upgrades", "talops up")
    seen["ha-w-3"]["status"]["nodeInfo"] = {"kubeletVersion": "v1.99.0"}
    assert _kubelet(ha, seen) == ("upgrades", "set kubernetes_version: v1.99.0 in cluster.yaml")


def _kubelet(cluster: Cluster, seen: dict[str, Any]) -> tuple[str, str]:
    found = kubernetes.judge(cluster, seen)
    return next((d.impact, d.command) for d in found if d.attribute == "kubelet")


async def test_what_could_not_be_read_is_said() -> None:
    """Never an empty answer."""

    async def broken() -> AreaDrift:
        raise UnreachableError("no answer", where="10.0.0.1")

    found = await looked("talos", broken)
    assert [error.what for error in found.unread] == ["no answer"]


def _row(target: str, *, safe: bool) -> Difference:
    return Difference("talos", target, "x", "token-1234", "b", "online", "c", safe=safe)


def test_only_nodes_without_a_restart_are_repaired() -> None:
    """One loud difference keeps the whole node out."""
    rows = [_row("a", safe=True), _row("b", safe=True), _row("b", safe=False)]
    assert quiet_nodes(rows) == ["a"]


FOREIGN_DISK = Difference(
    "proxmox", "a", "disk.scsi5", "no", "theirs", "removes", "c", foreign=True
)
TAG = Difference("proxmox", "a", "tags", "x", "y", "online", "c", safe=True)
MEMORY_ROW = Difference("proxmox", "a", "memory", "1", "2", "restarts", "c")
STALE = Difference("files", "a.tf", "content", "x", "y", "online", "c", safe=True)


def test_the_output_keeps_its_columns() -> None:
    """Whose disk it is decides what is repaired; the JSON output says it in words."""
    row = AreaDrift("proxmox", (FOREIGN_DISK,)).as_dict()["differences"][0]
    assert list(row) == [
        "layer", "target", "attribute", "wanted", "actual", "impact", "command", "safe",
    ]  # fmt: skip


EDITED = Difference("files", "a.tf", "content", "x", "y", "online", "c")
ADDON_GONE = Difference("kubernetes", "cilium", "addons", "applied", "x", "online", "c", safe=True)
ADDON_OLD = Difference("kubernetes", "metrics", "addons", "applied", "x", "online", "c")
FLUX_KEY = Difference("kubernetes", "key", "gitops", "applied", "x", "online", "c", safe=True)
CORDONED = Difference("kubernetes", "a", "schedulable", "yes", "no", "online", "c")


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([], False),
        ([FOREIGN_DISK], False),
        ([FOREIGN_DISK, TAG], True),
        ([TAG, MEMORY_ROW], False),
        ([STALE], True),
        ([EDITED], False),
        ([EDITED, TAG], False),
        ([_row("a", safe=True)], True),
        ([_row("a", safe=True), _row("a", safe=False)], False),
        ([ADDON_GONE], True),
        ([ADDON_GONE, ADDON_OLD], False),
        ([ADDON_OLD, FLUX_KEY], True),
        ([CORDONED], False),
    ],
)
def test_what_can_be_repaired(rows: list[Difference], expected: bool) -> None:
    """A plan that waits for files, restarts something or meets a hand edit is left alone."""
    layers = {row.layer for row in rows}
    results = [AreaDrift(x, tuple(row for row in rows if row.layer == x)) for x in sorted(layers)]
    assert bool(repairs(results)) == expected


def test_only_missing_objects_are_gentle() -> None:
    """An object that runs and differs would be changed under the feet of its users."""
    site: Any = None
    report: Any = None
    obj: Any = {"kind": "ConfigMap"}
    looks = {"gone": ObjectDifferences((obj,), (), 1), "old": ObjectDifferences((obj, obj), (), 1)}
    facts = AddonFacts(tuple(looks.items()), {name: look.differing for name, look in looks.items()})
    assert [(c.target, c.gentle) for c in AddonStage(site, report).plan(facts)] == [
        ("gone", True),
        ("old", False),
    ]
    assert [c.target for c in GentleAddons(site, report).plan(facts)] == ["gone"]


def test_values_leave_masked() -> None:
    """Both sides pass the redactor."""
    result = AreaDrift("talos", (_row("a", safe=True),), (TalopsError("x"),))
    (shown,) = masked([result], Redactor([Secret("token-1234")]))
    assert shown.differences[0].wanted == "***"


@pytest.mark.parametrize(
    ("text", "taint"),
    [
        ("a:NoSchedule", {"key": "a", "effect": "NoSchedule"}),
        ("a/b=c:NoExecute", {"key": "a/b", "value": "c", "effect": "NoExecute"}),
    ],
)
def test_taints_as_kubernetes_wants_them(text: str, taint: dict[str, str]) -> None:
    """With and without a value."""
    assert taint_of(text) == taint

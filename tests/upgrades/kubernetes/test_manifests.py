"""Bootstrap manifests against a real kube-apiserver, and the inventory as Talos writes it.

Keys of the inventory: fluxcd/cli-utils, pkg/object/objmetadata.go (ObjMetadata.String and its
example); annotation, names and field manager: siderolabs/go-kubernetes and Talos' constants.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from tests.kube.conftest import kubeconfig  # noqa: F401  (a fixture)
from tests.lab.talos.site import QUICK

from talops.errors import TalopsError
from talops.events import Note
from talops.kube.client import KubeClient
from talops.kube.objects import Ref
from talops.pipeline.stage import Reporter
from talops.upgrades.kubernetes.inventory_map import INVENTORY, NAME, OWNER, Entry, in_order
from talops.upgrades.kubernetes.manifests import Manifests

if TYPE_CHECKING:
    from talops.events import Event
    from talops.kube.kubeconfig import Kubeconfig


def config_map(name: str, **data: str) -> dict[str, Any]:
    meta = {"name": name, "namespace": "kube-system"}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta, "data": data}


def binding(name: str) -> dict[str, Any]:
    role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view"}
    # A manifest of a user may give a namespace to a kind that has none.
    meta = {"name": name, "namespace": "default"}
    return {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRoleBinding",
        "metadata": meta,
        "roleRef": role,
    }


SECRET = {
    "apiVersion": "v1",
    "kind": "Secret",
    "metadata": {"name": "token", "namespace": "kube-system"},
    "stringData": {"token-secret": "do-not-show"},
}


@pytest.mark.parametrize(
    ("text", "entry"),
    [
        (
            "test-namespace_test-name_apps_ReplicaSet",
            Entry("test-namespace", "test-name", "apps", "ReplicaSet"),
        ),
        ("kube-system_coredns__ConfigMap", Entry("kube-system", "coredns", "", "ConfigMap")),
        (
            "_system__coredns_rbac.authorization.k8s.io_ClusterRole",
            Entry("", "system:coredns", "rbac.authorization.k8s.io", "ClusterRole"),
        ),
    ],
)
def test_entries_as_talos_writes_them(text: str, entry: Entry) -> None:
    """Colons in names of roles are two underscores; kinds without a namespace have none."""
    assert str(entry) == text
    assert Entry.parse(text) == entry


def test_an_entry_that_is_not_one() -> None:
    """Nothing is deleted by a guess."""
    with pytest.raises(TalopsError, match="not an entry"):
        Entry.parse("kube-system_coredns")


def test_what_others_need_comes_first() -> None:
    """Namespaces, definitions, roles; then what checksums are computed from; then the rest."""
    kinds = ["DaemonSet", "Secret", "ClusterRole", "CustomResourceDefinition", "Namespace"]
    ordered = [obj["kind"] for obj in in_order({"kind": kind} for kind in kinds)]
    assert ordered == ["Namespace", "CustomResourceDefinition", "ClusterRole", *kinds[1::-1]]


async def applied(kube: KubeClient, *objects: dict[str, Any], **how: Any) -> list[str]:
    """What it said, change by change."""
    events: list[Event] = []
    await Manifests(kube, objects, **how).sync(QUICK, Reporter("upgrade", events.append))
    assert "do-not-show" not in str(events)
    notes = [event.message for event in events if isinstance(event, Note)]
    return [note.removeprefix("bootstrap manifest: ") for note in notes]


async def entries(kube: KubeClient) -> set[str]:
    return set(((await kube.get(INVENTORY)) or {}).get("data") or {})


@pytest.mark.slow
async def test_they_follow_the_manifests(kubeconfig: Kubeconfig) -> None:  # noqa: F811
    """Created, changed and deleted; shown before; nothing to do the second time."""
    async with KubeClient(kubeconfig) as kube:
        first = (config_map("a", x="1"), config_map("b"), binding("t:view"), SECRET)
        said = await applied(kube, *first)
        assert said == [
            "create ConfigMap kube-system/a",
            "create ConfigMap kube-system/b",
            "create Secret kube-system/token",
            "create ClusterRoleBinding t:view",
        ]
        assert await entries(kube) == {
            *("kube-system_a__ConfigMap", "kube-system_b__ConfigMap", "kube-system_token__Secret"),
            "_t__view_rbac.authorization.k8s.io_ClusterRoleBinding",
        }
        live = await kube.get(Ref("v1", "ConfigMap", "a", "kube-system"))
        assert live
        assert live["metadata"]["annotations"][OWNER] == NAME
        assert {m["manager"] for m in live["metadata"]["managedFields"]} == {"talos"}
        assert await applied(kube, *first) == []

        said = await applied(kube, config_map("a", x="2"), binding("t:view"), SECRET)
        assert said[0].startswith("change ConfigMap kube-system/a\n")
        assert {'-    x: "1"', '+    x: "2"'} <= set(said[0].splitlines())
        assert said[1] == "delete ConfigMap kube-system/b"
        assert await kube.get(Ref("v1", "ConfigMap", "b", "kube-system")) is None
        assert "kube-system_b__ConfigMap" not in await entries(kube)


@pytest.mark.slow
async def test_objects_of_others(kubeconfig: Kubeconfig) -> None:  # noqa: F811
    """One without an inventory is adopted; one of another inventory stops the run."""
    async with KubeClient(kubeconfig) as kube:
        await kube.apply(config_map("found", x="mine"))
        await applied(kube, config_map("found", x="talos"))
        live = await kube.get(Ref("v1", "ConfigMap", "found", "kube-system"))
        assert live
        assert (live["data"], live["metadata"]["annotations"][OWNER]) == ({"x": "talos"}, NAME)
        await kube.apply(config_map("same", x="1"))
        assert await applied(kube, config_map("found", x="talos"), config_map("same")) == []
        assert "kube-system_same__ConfigMap" in await entries(kube)

        other = config_map("other")
        other["metadata"]["annotations"] = {OWNER: "theirs"}
        await kube.apply(other)
        with pytest.raises(TalopsError, match="belongs to the inventory theirs"):
            await applied(kube, config_map("found", x="talos"), config_map("other", x="talos"))


@pytest.mark.slow
async def test_before_there_was_an_inventory(kubeconfig: Kubeconfig) -> None:  # noqa: F811
    """With Talos 1.12: applied without annotation and inventory, and nothing is deleted."""
    async with KubeClient(kubeconfig) as kube:
        before = await entries(kube)
        await applied(kube, config_map("old", x="1"), inventory=False)
        assert await applied(kube, inventory=False) == []
        live = await kube.get(Ref("v1", "ConfigMap", "old", "kube-system"))
        assert live
        assert OWNER not in (live["metadata"].get("annotations") or {})
        assert await entries(kube) == before

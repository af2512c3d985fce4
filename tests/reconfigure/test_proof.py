"""What proves a tried config, what of it can be tried, and where a bad setting comes from."""

from __future__ import annotations

import contextlib
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from talops.errors import UnreachableError
from talops.inventory.load import load
from talops.lab.talos.config.changes import needs_reboot
from talops.lab.talos.config.document import MachineConfig as LabConfig
from talops.machineconfig import yamltext
from talops.machineconfig.generate import MachineConfig
from talops.machineconfig.origins import origins
from talops.reconfigure.proof import ClusterProof
from talops.reconfigure.trial import config_to_try
from talops.rolls.before import FirstLook
from talops.rolls.gates import Absence, Gate, Gates

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from tests.examples import Example

    from talops.machineconfig.secrets.bundle import Bundle

FILE = Path(__file__).parents[1] / "machineconfig" / "effect_cases.yaml"


def documents(case: dict[str, Any], key: str) -> list[dict[str, Any]]:
    return list(yamltext.load_all(case[key], where=key))


def whole(case: dict[str, Any]) -> bool:
    """Both sides are configs that a node could run."""
    return all(any("machine" in d for d in documents(case, key)) for key in ("before", "after"))


CASES = [case for case in yamltext.load(FILE.read_text(), where=FILE.name) if whole(case)]


class FakeKube:
    """A Kubernetes API that has one Node and its lease."""

    def __init__(self, *leases: str, ready: bool = True) -> None:
        self.leases = list(leases)
        self.ready = ready
        self.down = False

    @contextlib.asynccontextmanager
    async def open(self) -> AsyncIterator[FakeKube]:
        if self.down:
            raise UnreachableError("the Kubernetes API does not answer")
        yield self

    async def get(self, ref: Any) -> dict[str, Any] | None:
        if ref.kind == "Lease":
            renewed = self.leases.pop(0) if len(self.leases) > 1 else self.leases[0]
            return {"spec": {"renewTime": renewed}}
        status = "True" if self.ready else "False"
        return {"status": {"conditions": [{"type": "Ready", "status": status, "reason": "x"}]}}


class FakeFleet:
    def talos(self, _: object) -> Any:
        async def find(*_: object) -> str:
            return "w-1"

        return contextlib.nullcontext(SimpleNamespace(resources=SimpleNamespace(find=find)))


async def proof(kube: FakeKube) -> ClusterProof:
    node: Any = SimpleNamespace(name="w-1", controller=False, address="10.0.0.1")
    fleet: Any = FakeFleet()
    access: Any = kube
    found = ClusterProof(node, fleet, (), access)
    await found.before()
    return found


async def test_a_kubelet_that_lost_the_endpoint() -> None:
    """Its Node is Ready for most of a minute, but its lease stays as it is."""
    silent = await proof(FakeKube("10:00"))
    for _ in range(3):
        assert await silent.missing() == "its kubelet has not renewed its lease yet"


async def test_only_a_later_renewal_counts() -> None:
    """The first answer may have been written with the config before."""
    found = await proof(FakeKube("10:00", "10:00", "10:10"))
    assert await found.missing()
    assert await found.missing()
    assert await found.missing() == ""


async def test_a_node_that_was_not_ready_before() -> None:
    """The config may be what repairs it, so that Kubernetes is not asked."""
    sick = await proof(FakeKube("10:00", ready=False))
    assert await sick.missing() == ""
    kube = FakeKube("10:00")
    kube.down = True
    assert await (await proof(kube)).missing() == ""


async def test_a_node_that_is_not_ready_any_more() -> None:
    """Named with its reason; an API that does not answer any more proves nothing."""
    kube = FakeKube("10:00", "10:10")
    found = await proof(kube)
    kube.ready = False
    assert await found.missing() == "Node not Ready: x"
    kube.down = True
    with pytest.raises(UnreachableError):
        await found.missing()


@pytest.mark.parametrize("case", CASES, ids=lambda case: str(case["name"]))
def test_what_can_be_tried(case: dict[str, Any]) -> None:
    """Judged by the rule of Talos up to 1.13 as the lab has it; 1.14 tries the whole config."""
    before, after = documents(case, "before"), documents(case, "after")
    wanted = MachineConfig("n", False, tuple(after))
    assert config_to_try(case["before"], wanted, "v1.14.1") is wanted
    tried = config_to_try(case["before"], wanted, "v1.13.9")
    old, new = LabConfig(b"", tuple(before)), LabConfig(b"", tried.documents)
    assert not needs_reboot(old, new)
    others = [d for d in after if "kind" in d]
    assert [d for d in tried.documents if "kind" in d] == others


class Closing(Gate):
    """A gate that is open or closed as the test needs it."""

    def __init__(self, name: str, reason: str = "") -> None:
        self.name = name
        self.reason = reason

    async def closed(self, absence: Absence) -> str:
        del absence
        return self.reason


async def test_what_was_closed_before_the_first_change(monkeypatch: pytest.MonkeyPatch) -> None:
    """It stops nothing, because a config may be the repair; what closes later does."""
    broken, well = Closing("nodes", "the API does not answer"), Closing("etcd")
    gates = Gates([broken, well], 0.05, 0.01)
    site: Any = SimpleNamespace(limits=SimpleNamespace(kubernetes=0.05, interval=0.01))
    nothing: Any = None
    first = FirstLook(site, nothing, nothing)

    async def none_sick() -> frozenset[str]:
        return frozenset()

    monkeypatch.setattr(first, "_sick", none_sick)
    before = await first.look(gates)
    assert before.closed == {"nodes"}
    waits: list[object] = []
    await gates.pass_all(before.absence(()), waits.append, before.closed)
    assert waits == []
    well.reason = "cp-2 is not healthy"
    with pytest.raises(Exception, match="etcd: cp-2 is not healthy"):
        await gates.pass_all(before.absence(()), waits.append, before.closed)
    assert await first.look(gates) == before, "it is taken once"


def test_where_a_setting_comes_from(example: Example, bundle: Bundle, tmp_path: Path) -> None:
    """Every patch of the node that touches it, and none that does not."""
    cluster = example("ha")
    assert origins(cluster, bundle, lambda _: "", cluster.workers[0], ["LinkConfig/net0"]) == ()
    (tmp_path / "cluster.yaml").write_text(
        "cluster_name: lab\ntalos_version: v1.13.9\nkubernetes_version: v1.36.1\n"
        "node_cidr: 10.0.0.0/24\nnode_default_gateway: 10.0.0.254\n"
        "patches:\n"
        "  - {machine: {sysctls: {net.core.somaxconn: '9'}}}\n"
        "  - {apiVersion: v1alpha1, kind: LinkConfig, name: net0, mtu: 9000}\n"
        "worker_patches:\n"
        "  - {apiVersion: v1alpha1, kind: LinkConfig, name: net0, up: false}\n"
    )
    (tmp_path / "nodes.yaml").write_text(
        "nodes:\n"
        "  - {name: cp, address: 10.0.0.1, disk: /dev/sda, mac_addr: 'BC:24:11:00:00:01',"
        " uuid: 00000000-0000-4000-8000-000000000001, controller: true}\n"
        "  - {name: w, address: 10.0.0.2, disk: /dev/sda, mac_addr: 'BC:24:11:00:00:02',"
        " uuid: 00000000-0000-4000-8000-000000000002, controller: false}\n"
    )
    own = load(tmp_path).require()
    plane, worker = own.nodes

    def lines(node: Any, *paths: str) -> list[str]:
        return [place.split(":")[1] for place in origins(own, bundle, lambda _: "", node, paths)]

    assert lines(worker, "LinkConfig/net0") == ["8", "10"]
    assert lines(plane, "LinkConfig/net0") == ["8"]
    assert lines(plane, "machine.sysctls.net.core.somaxconn") == ["7"]
    assert lines(plane, "machine.network.nameservers", "VLANConfig/net0.5") == []

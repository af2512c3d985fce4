"""When one node may be removed, decided from facts alone."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.stages.reworded import Traced

from talops.errors import ConflictError, TalopsError, UnreachableError
from talops.inventory.load import load
from talops.pipeline.stage import Reporter, Seen
from talops.site.fleet import Configured, InMaintenance, Unreachable
from talops.site.site import Limits
from talops.stages import reset_one
from talops.stages.reset_nodes import ResetChange
from talops.stages.reset_one import Facts, ResetOne
from talops.talos.membership import Etcd
from talops.talos.membership import objection_to_leave as objection

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

CLUSTER = load(Path(__file__).parent.parent.parent / "examples" / "ha").require()
RUNNING = Configured("config", None)
SILENT = Unreachable(UnreachableError("no route"))


def etcd(members: str, healthy: str, **unread: str) -> Etcd:
    """`members` and `healthy` as numbers of control planes: "123"."""
    names = {number: f"ha-cp-{number}" for number in "123"}
    listed = {names[number]: int(number) for number in members}
    return Etcd(listed, frozenset(names[number] for number in healthy), unread)


def stage(name: str, *, force: bool = False) -> ResetOne:
    class Site:
        cluster = CLUSTER

    site: Any = Site()
    nothing: Any = None
    node = next(node for node in CLUSTER.nodes if node.name == name)
    return ResetOne(site, node, nothing, nothing, force=force)


@pytest.mark.parametrize(
    ("seen", "reason"),
    [
        pytest.param(etcd("123", "123"), None, id="three, all well"),
        pytest.param(etcd("123", "23"), None, id="three, only this one is ill"),
        pytest.param(etcd("12", "12"), None, id="two, both well"),
        pytest.param(etcd("23", "23"), None, id="no member any more"),
        pytest.param(etcd("123", "12"), "not healthy: ha-cp-3", id="three, another is ill"),
        pytest.param(etcd("12", "1"), "not healthy: ha-cp-2", id="two, the other is ill"),
        pytest.param(
            etcd("12", "1", **{"ha-cp-2": "no leader"}),
            "not healthy: ha-cp-2 (no leader)",
            id="two, with the reason",
        ),
        pytest.param(etcd("1", "1"), "only etcd member", id="the last one"),
        pytest.param(etcd("", "", x="refused"), "x: refused", id="nobody answered"),
    ],
)
def test_etcd_keeps_its_majority(seen: Etcd, reason: str | None) -> None:
    """Only what is left after the node was removed counts."""
    found = objection("ha-cp-1", seen)
    assert (found is None) if reason is None else (reason in (found or ""))


GOOD, LAST = etcd("123", "123"), etcd("1", "1")


@pytest.mark.parametrize(
    ("name", "seen", "force", "wanted"),
    [
        ("ha-w-1", Facts(RUNNING, None), False, ["reset ha-w-1 (drain and wipe)"]),
        ("ha-w-1", Facts(InMaintenance(), None), False, []),
        ("ha-w-1", Facts(SILENT, None), True, []),
        ("ha-cp-1", Facts(RUNNING, GOOD), False, ["reset ha-cp-1 (drain, leave etcd and wipe)"]),
        (
            "ha-cp-1",
            Facts(RUNNING, LAST),
            True,
            ["reset ha-cp-1 (wipe without leaving etcd)"],
        ),
        (
            "ha-cp-1",
            Facts(SILENT, etcd("123", "23")),
            True,
            ["remove etcd member ha-cp-1 (by the other members)"],
        ),
        (
            "ha-cp-1",
            Facts(InMaintenance(), etcd("123", "23")),
            False,
            ["remove etcd member ha-cp-1 (by the other members)"],
        ),
    ],
)
def test_plan(name: str, seen: Facts, force: bool, wanted: list[str]) -> None:
    """A node that answers leaves etcd itself; the others remove one that cannot."""
    changes = stage(name, force=force).plan(seen)
    assert [str(change) for change in changes] == wanted
    assert [change.graceful for change in changes] == [seen.etcd is not LAST for _ in changes]


@pytest.mark.parametrize(
    ("name", "seen"),
    [
        ("ha-cp-1", Facts(RUNNING, LAST)),
        ("ha-cp-1", Facts(RUNNING, etcd("123", "12"))),
        ("ha-cp-1", Facts(SILENT, etcd("123", "23"))),
        ("ha-w-1", Facts(SILENT, None)),
    ],
)
def test_refusals_name_the_way_out(name: str, seen: Facts) -> None:
    """What cannot be made good again happens only by force."""
    with pytest.raises(ConflictError) as caught:
        stage(name).plan(seen)
    assert f"--node {name} --force" in (caught.value.hint or "")


@pytest.mark.parametrize(
    ("seen", "force", "struck"),
    [
        (etcd("123", "23"), False, True),
        (etcd("23", "23"), False, False),
        (etcd("1", "1"), True, False),
        (etcd("12", "1"), True, False),
    ],
    ids=["a member that is wiped", "none any more", "the only one", "etcd cannot do without"],
)
async def test_a_wiped_member_is_struck_off(
    seen: Etcd, force: bool, struck: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the reset itself; the proof after it only looks."""
    told: list[str] = []
    node = stage("ha-cp-1", force=force)
    outside: Any = Traced([], "outside")

    async def look() -> Etcd:
        return seen

    async def strike_off() -> None:
        told.append("struck off")

    monkeypatch.setattr(reset_one, "wipe", outside)
    monkeypatch.setattr(node, "_connections", outside)
    monkeypatch.setattr(node, "_report", outside)
    monkeypatch.setattr(node, "_empty", outside)
    monkeypatch.setattr(node, "_etcd", look)
    monkeypatch.setattr(node, "_strike_off", strike_off)
    await node.apply(ResetChange("reset", "ha-cp-1", graceful=True))
    assert told == ["struck off"] * struck
    if struck:
        with pytest.raises(TalopsError, match="still an etcd member"):
            await node.verify(Seen(Facts(RUNNING, seen)))
    else:
        await node.verify(Seen(Facts(RUNNING, seen)))
    assert told == ["struck off"] * struck


class Draining:
    """A reset whose Kubernetes, drain and wipe are recorded."""

    def __init__(self, patch: pytest.MonkeyPatch, *, force: bool = False) -> None:
        self.done: list[str] = []
        self.nodes: dict[str, Any] | TalopsError = {
            name: {
                "metadata": {"name": name},
                "status": {"conditions": [{"type": "Ready", "status": "True"}]},
            }
            for name in ("ha-w-1", "ha-w-2")
        }
        self.blocked = False
        self.stage = stage("ha-w-1", force=force)
        site: Any = self.stage._site
        site.limits = Limits()
        self.stage._connections = self  # type: ignore[assignment]
        self.stage._report = Reporter("reset", lambda _: None)
        patch.setattr(reset_one, "drain", self._drain)
        patch.setattr(reset_one, "wipe", self._wipe)

    async def kube_nodes(self) -> dict[str, Any]:
        if isinstance(self.nodes, TalopsError):
            raise self.nodes
        return self.nodes

    @contextlib.asynccontextmanager
    async def kube(self) -> AsyncIterator[None]:
        yield

    async def fleet(self) -> None:
        return None

    async def _drain(self, _: Any, name: str, options: Any, __: Any) -> None:
        assert options.timeout == CLUSTER.timeouts.drain
        if self.blocked:
            raise TalopsError("a budget forbids it", hint="kubectl get pdb")
        self.done.append(f"drain {name}")

    async def _wipe(self, *_: Any, graceful: bool) -> None:
        self.done.append(f"wipe, {graceful=}")

    async def run(self) -> list[str]:
        await self.stage.apply(ResetChange("reset", "ha-w-1", "", "ha-w-1"))
        return self.done


async def test_drained_before_it_is_wiped(monkeypatch: pytest.MonkeyPatch) -> None:
    """Budgets are obeyed; not with --force, without Kubernetes, or without another node."""
    both = ["drain ha-w-1", "wipe, graceful=True"]
    assert await Draining(monkeypatch).run() == both
    assert await Draining(monkeypatch, force=True).run() == both[1:]
    silent = Draining(monkeypatch)
    silent.nodes = UnreachableError("refused")
    assert await silent.run() == both[1:]
    alone = Draining(monkeypatch)
    assert isinstance(alone.nodes, dict)
    alone.nodes["ha-w-2"]["spec"] = {"unschedulable": True}
    assert await alone.run() == both[1:]
    blocked = Draining(monkeypatch)
    blocked.blocked = True
    with pytest.raises(TalopsError, match="a budget forbids it") as stopped:
        await blocked.run()
    assert stopped.value.hint == (
        "kubectl get pdb; to reset it without a drain: talops reset --node ha-w-1 --force"
    )
    assert blocked.done == [], "nothing was wiped"

"""When one node may be removed, decided from facts alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.stages.reworded import Traced

from talops.errors import ConflictError, TalopsError, UnreachableError
from talops.inventory.load import load
from talops.pipeline.stage import Seen
from talops.site.fleet import Configured, InMaintenance, Unreachable
from talops.stages import reset_one
from talops.stages.reset_nodes import ResetChange
from talops.stages.reset_one import Facts, ResetOne
from talops.talos.membership import Etcd
from talops.talos.membership import objection_to_leave as objection

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

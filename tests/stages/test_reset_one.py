"""When one node may be taken away, decided from facts alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from talops.errors import ConflictError, UnreachableError
from talops.inventory.load import load
from talops.site.fleet import Configured, Silent, Waiting
from talops.stages.reset_one import Etcd, Facts, ResetOne, objection

CLUSTER = load(Path(__file__).parent.parent.parent / "examples" / "ha").require()
RUNNING = Configured("config", None)
SILENT = Silent(UnreachableError("no route"))


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
        pytest.param(etcd("123", "12"), "ha-cp-3 is not well", id="three, another is ill"),
        pytest.param(etcd("12", "1"), "ha-cp-2 is not well", id="two, the other is ill"),
        pytest.param(etcd("1", "1"), "only etcd member", id="the last one"),
        pytest.param(etcd("", "", x="refused"), "x: refused", id="nobody answered"),
    ],
)
def test_etcd_keeps_its_majority(seen: Etcd, reason: str | None) -> None:
    """Only what is left after the node has gone counts."""
    found = objection("ha-cp-1", seen)
    assert (found is None) if reason is None else (reason in (found or ""))


GOOD, LAST = etcd("123", "123"), etcd("1", "1")


@pytest.mark.parametrize(
    ("name", "seen", "force", "wanted"),
    [
        ("ha-w-1", Facts(RUNNING, None), False, ["reset ha-w-1 (drain and wipe)"]),
        ("ha-w-1", Facts(Waiting(), None), False, []),
        ("ha-w-1", Facts(SILENT, None), True, []),
        ("ha-cp-1", Facts(RUNNING, GOOD), False, ["reset ha-cp-1 (drain, leave etcd and wipe)"]),
        (
            "ha-cp-1",
            Facts(RUNNING, LAST),
            True,
            ["reset ha-cp-1 (wipe alone, without leaving etcd)"],
        ),
        (
            "ha-cp-1",
            Facts(SILENT, etcd("123", "23")),
            True,
            ["remove etcd member ha-cp-1 (by the other members)"],
        ),
        (
            "ha-cp-1",
            Facts(Waiting(), etcd("123", "23")),
            False,
            ["remove etcd member ha-cp-1 (by the other members)"],
        ),
    ],
)
def test_plan(name: str, seen: Facts, force: bool, wanted: list[str]) -> None:
    """A node that answers leaves by itself; the others strike off one that cannot."""
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

"""The mark on a Node: written with the cordon, removed with it, and understood by another run."""

from __future__ import annotations

from typing import Any

import pytest

from talops.rolls.gates import workload_of
from talops.rolls.marks import ANNOTATION, UNKNOWN, Mark, begin, end, keep, mark_of
from talops.rolls.volumes import attached_to


def node(text: str | None, **spec: Any) -> dict[str, Any]:
    annotations = {} if text is None else {ANNOTATION: text}
    return {"metadata": {"name": "n", "annotations": annotations}, "spec": spec}


@pytest.mark.parametrize(
    "mark",
    [
        Mark("Talos v1.14.1"),
        Mark("Talos v1.14.1", "boot-1", "installer:v1.14.1", True, True, True),
        Mark("restart", "boot-1", cordoned=True, drained=True),
    ],
)
def test_a_mark_is_read_as_it_was_written(mark: Mark) -> None:
    """Nothing that another run needs is lost."""
    assert mark_of(node(mark.to_text())) == mark


@pytest.mark.parametrize("text", ["{", "[]", '"x"', "7"])
def test_a_mark_that_cannot_be_read(text: str) -> None:
    """It still says that the node belongs to a roll; the cordon of now counts as its own."""
    assert mark_of(node(text)) == Mark(UNKNOWN)
    assert mark_of(node(text, unschedulable=True)) == Mark(UNKNOWN, cordoned=True)


def test_a_mark_of_a_newer_version() -> None:
    """Fields that this version does not know are left out."""
    assert mark_of(node('{"reason": "r", "cordoned": true, "new": 1}')) == Mark("r", cordoned=True)
    assert mark_of(node(None)) is None


def test_the_cordon_and_its_mark_are_one_request() -> None:
    """A kill between the two would leave a cordon that no run removes."""
    mark = Mark("r", cordoned=True)
    assert begin(mark) == {
        "metadata": {"annotations": {ANNOTATION: mark.to_text()}},
        "spec": {"unschedulable": True},
    }
    assert end(mark) == {
        "metadata": {"annotations": {ANNOTATION: None}},
        "spec": {"unschedulable": None},
    }
    assert "spec" not in keep(mark)


@pytest.mark.parametrize("mark", [Mark("r", cordoned=True, was_cordoned=True), Mark("r")])
def test_a_cordon_of_another_user_stays(mark: Mark) -> None:
    """Cordoned before the roll, or never cordoned by it: only the mark goes."""
    assert end(mark) == {"metadata": {"annotations": {ANNOTATION: None}}}


def attachment(volume: str, node_name: str) -> dict[str, Any]:
    return {
        "metadata": {"name": f"csi-{volume}"},
        "spec": {"nodeName": node_name, "source": {"persistentVolumeName": volume}},
    }


def test_volumes_that_are_still_attached() -> None:
    """Those of this node, without those of pods that stay."""
    listed = [attachment("b", "n"), attachment("a", "n"), attachment("c", "m")]
    assert attached_to(listed, "n", ()) == ["a", "b"]
    assert attached_to(listed, "n", {"a"}) == ["b"]
    assert attached_to(listed, "x", ()) == []


def test_a_pod_counts_for_its_workload() -> None:
    """An evicted pod comes back under another name."""
    owner = {"kind": "ReplicaSet", "name": "web-1", "controller": True}
    owned = {"kind": "Pod", "metadata": {"name": "web-1-x", "namespace": "a"}}
    assert workload_of(owned) == "Pod a/web-1-x"
    owned["metadata"]["ownerReferences"] = [owner]  # type: ignore[index]
    assert workload_of(owned) == "a/ReplicaSet/web-1"

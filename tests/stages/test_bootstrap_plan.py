"""When etcd may be founded: once in a cluster's life, decided from facts alone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from talops.errors import ConflictError, TalopsError
from talops.inventory.load import load
from talops.site.founding import record
from talops.site.founding.evidence import Evidence
from talops.site.site import Limits
from talops.stages.bootstrap import Bootstrap, ControlPlaneFacts, Facts

EXAMPLES = Path(__file__).parent.parent.parent / "examples"
NAMES = ("ha-cp-1", "ha-cp-2", "ha-cp-3")
EMPTY = ControlPlaneFacts(has_data=False, members=frozenset())
DATA = ControlPlaneFacts(has_data=True, members=frozenset())
ALONE = ControlPlaneFacts(has_data=True, members=frozenset(NAMES[:1]))
MEMBER = ControlPlaneFacts(has_data=True, members=frozenset(NAMES))
PAIR = ControlPlaneFacts(has_data=True, members=frozenset(NAMES[:2]))
NEW = ["bootstrap etcd on ha-cp-1 (once in a cluster's life)"]
SEEN = (Evidence("w-1 has joined its Kubernetes", "10.0.0.21"),)


class Site:
    cluster = load(EXAMPLES / "ha").require()
    limits = Limits()


def stage() -> Bootstrap:
    site: Any = Site()
    nothing: Any = None
    return Bootstrap(site, nothing, nothing)


def facts(*planes: ControlPlaneFacts, evidence: tuple[Evidence, ...] = ()) -> Facts:
    return Facts(dict(zip(NAMES, planes, strict=True)), "this-cluster", evidence)


@pytest.mark.parametrize(
    ("seen", "wanted"),
    [
        pytest.param(facts(EMPTY, EMPTY, EMPTY), NEW, id="new"),
        pytest.param(facts(ALONE, EMPTY, EMPTY), [], id="one member"),
        pytest.param(facts(EMPTY, EMPTY, DATA), [], id="data without a member"),
        pytest.param(facts(MEMBER, MEMBER, MEMBER, evidence=SEEN), [], id="complete"),
        pytest.param(facts(MEMBER, EMPTY, MEMBER), [], id="one of three lost"),
        pytest.param(facts(MEMBER, DATA, DATA), [], id="two of three not up yet"),
    ],
)
def test_bootstrap_only_where_no_node_has_data(seen: Facts, wanted: list[str]) -> None:
    """Data or membership anywhere forbids a second founding."""
    assert [str(change) for change in stage().plan(seen)] == wanted


def test_lost_etcd_is_never_founded_again() -> None:
    """A record shows a bootstrap, and now no node has data: that is a loss."""
    with pytest.raises(ConflictError) as caught:
        stage().plan(facts(EMPTY, EMPTY, EMPTY, evidence=SEEN))
    assert "w-1 has joined its Kubernetes (10.0.0.21)" in caught.value.what
    assert "talops recover --from-snapshot" in (caught.value.hint or "")
    assert "talops recover --bootstrap-again ha" in (caught.value.hint or "")


@pytest.mark.parametrize(
    ("seen", "lost"),
    [
        pytest.param(facts(MEMBER, EMPTY, EMPTY), "2 members of 3", id="two of three"),
        pytest.param(facts(EMPTY, PAIR, EMPTY), "1 member of 2", id="one of two"),
    ],
)
def test_a_lost_majority_is_said_at_once(seen: Facts, lost: str) -> None:
    """The members that are left cannot admit the others: waiting would be in vain."""
    with pytest.raises(ConflictError) as caught:
        stage().plan(seen)
    assert f"etcd has lost its majority: {lost} without data" in caught.value.what
    assert "talops recover --from-snapshot" in (caught.value.hint or "")


def test_unreadable_record_is_not_an_absent_one(tmp_path: Path) -> None:
    """A damaged file is not a reason for a bootstrap."""
    assert not record.any_founding(tmp_path)
    for name in (record.RECORD, record.COMMITTED):
        file = tmp_path / name
        file.parent.mkdir()
        file.write_text("{", encoding="utf-8")
        with pytest.raises(TalopsError, match="cannot be read"):
            record.any_founding(tmp_path)
        file.unlink()


def test_intent_alone_founds_nothing(tmp_path: Path) -> None:
    """A run killed after recording its intent has to observe again."""
    record.write(tmp_path, "intended", "x", "cp-1")
    assert not record.founded_here(tmp_path, "x")
    assert record.exists(tmp_path)


def test_a_record_of_another_cluster_forbids_nothing(tmp_path: Path) -> None:
    """The same name with new secrets is a new cluster."""
    record.write(tmp_path, "founded", "old", "cp-1")
    record.commit(tmp_path, "old", "cp-1")
    assert record.founded_here(tmp_path, "old")
    assert record.founded_in_repository(tmp_path, "old")
    assert not record.founded_here(tmp_path, "new")
    assert not record.founded_in_repository(tmp_path, "new")


def test_the_committed_record_does_not_contain_the_id(tmp_path: Path) -> None:
    """The id of a cluster is half of what its discovery needs."""
    record.commit(tmp_path, "the-cluster-id", "cp-1")
    text = (tmp_path / record.COMMITTED).read_text(encoding="utf-8")
    assert "the-cluster-id" not in text
    assert json.loads(text)["cluster"].startswith("sha256:")

"""When etcd may be founded: once in a cluster's life, decided from facts alone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from talops.errors import ConflictError, TalopsError
from talops.inventory.load import load
from talops.site.bootstrap_record import read_record
from talops.site.site import Limits
from talops.stages.bootstrap import Bootstrap, ControlPlaneFacts, Facts

EXAMPLES = Path(__file__).parent.parent.parent / "examples"
EMPTY = ControlPlaneFacts(has_data=False, members=frozenset())
DATA = ControlPlaneFacts(has_data=True, members=frozenset())
MEMBER = ControlPlaneFacts(has_data=True, members=frozenset({"ha-cp-1"}))
NEW = ["bootstrap etcd on ha-cp-1 (once in a cluster's life)"]


class Site:
    cluster = load(EXAMPLES / "ha").require()
    limits = Limits()


def stage() -> Bootstrap:
    site: Any = Site()
    nothing: Any = None
    return Bootstrap(site, nothing, nothing)


def facts(*planes: ControlPlaneFacts, founded: str | None = None) -> Facts:
    names = ("ha-cp-1", "ha-cp-2", "ha-cp-3")
    return Facts(dict(zip(names, planes, strict=True)), founded, "this-cluster")


@pytest.mark.parametrize(
    ("seen", "wanted"),
    [
        pytest.param(facts(EMPTY, EMPTY, EMPTY), NEW, id="new"),
        pytest.param(facts(EMPTY, EMPTY, EMPTY, founded="old"), NEW, id="new, old record"),
        pytest.param(facts(MEMBER, EMPTY, EMPTY), [], id="one member"),
        pytest.param(facts(EMPTY, MEMBER, EMPTY), [], id="another member"),
        pytest.param(facts(EMPTY, EMPTY, DATA), [], id="data without a member"),
        pytest.param(facts(MEMBER, MEMBER, MEMBER, founded="this-cluster"), [], id="complete"),
    ],
)
def test_founded_only_where_nobody_has_anything(seen: Facts, wanted: list[str]) -> None:
    """Data or membership anywhere forbids a second founding."""
    assert [str(change) for change in stage().plan(seen)] == wanted


def test_lost_etcd_is_never_founded_again() -> None:
    """It was founded from here, and now nobody has data: that is a loss, not a beginning."""
    with pytest.raises(ConflictError) as caught:
        stage().plan(facts(EMPTY, EMPTY, EMPTY, founded="this-cluster"))
    assert "talops recover --from-snapshot" in (caught.value.hint or "")


def test_unreadable_record_is_not_an_absent_one(tmp_path: Path) -> None:
    """Nobody founds a cluster because a file is damaged."""
    assert read_record(tmp_path / "none.json") is None
    (tmp_path / "bad.json").write_text("{", encoding="utf-8")
    with pytest.raises(TalopsError, match="cannot be read"):
        read_record(tmp_path / "bad.json")


def test_intent_alone_founds_nothing(tmp_path: Path) -> None:
    """A run killed after writing down its intent has to look again."""
    (tmp_path / "r.json").write_text('{"state": "intended", "cluster_id": "x"}', encoding="utf-8")
    assert read_record(tmp_path / "r.json") is None

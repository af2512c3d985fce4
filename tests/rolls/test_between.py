"""Gates that were open after one node are not asked again before the next one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from talops.rolls import between
from talops.rolls.between import LastPass
from talops.rolls.gates import Absence

if TYPE_CHECKING:
    import pytest


def test_a_pass_holds_until_something_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not for a stricter question, not after a change, and not for ever."""
    last, none, one = LastPass(), Absence(), Absence(frozenset({"w-1"}))
    assert not last.covers(none)
    last.keep(none)
    assert last.covers(none)
    assert last.covers(one)
    last.keep(Absence(sick=frozenset({"w-2"})))
    assert not last.covers(one), "w-2 was excused, and is not any more"
    last.keep(one)
    assert last.covers(Absence(frozenset({"w-1", "w-2"})))
    last.clear()
    assert not last.covers(one)
    monkeypatch.setattr(between, "FRESH", -1.0)
    last.keep(one)
    assert not last.covers(one)

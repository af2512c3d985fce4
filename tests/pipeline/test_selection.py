"""Which stages run, by data."""

from __future__ import annotations

import pytest

from talops.errors import TalopsError
from talops.pipeline.selection import Selection, select

NAMES = ["images", "provision", "bootstrap", "verify"]


@pytest.mark.parametrize(
    ("wanted", "runs"),
    [
        (Selection(), NAMES),
        (Selection(only=("bootstrap",)), ["bootstrap"]),
        (Selection(only=("verify", "images")), ["images", "verify"]),
        (Selection(first="provision"), NAMES[1:]),
        (Selection(last="provision"), NAMES[:2]),
        (Selection(first="provision", last="bootstrap"), NAMES[1:3]),
        (Selection(skip=("images", "verify")), NAMES[1:3]),
        (Selection(first="provision", skip=("bootstrap",)), ["provision", "verify"]),
    ],
)
def test_flags_choose_stages(wanted: Selection, runs: list[str]) -> None:
    """Each flag leaves out the stages it says, and every omission has a reason."""
    left_out = select(NAMES, wanted)
    assert [name for name in NAMES if name not in left_out] == runs
    assert all(left_out.values())


@pytest.mark.parametrize(
    ("wanted", "words"),
    [
        (Selection(only=("bootstrp",)), "did you mean bootstrap?"),
        (Selection(skip=("nothing",)), "stages: images, provision"),
        (Selection(first="verify", last="images"), "no stage would run"),
        (Selection(only=("verify",), first="images"), "--only cannot be combined"),
    ],
)
def test_mistakes_are_named(wanted: Selection, words: str) -> None:
    """A mistyped or contradictory selection is refused in words that help."""
    with pytest.raises(TalopsError) as caught:
        select(NAMES, wanted)
    assert words in str(caught.value)

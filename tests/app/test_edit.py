"""Versions in cluster.yaml change, and nothing else does."""

from __future__ import annotations

import pytest

from talops.app.upgrades.edit import with_version
from talops.errors import TalopsError
from talops.problems import Position


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("talos_version: v1.13.9", "talos_version: v1.14.1"),
        ("talos_version: 1.13.9", "talos_version: v1.14.1"),
        ('talos_version:  "v1.13.9"   # pinned', 'talos_version:  "v1.14.1"   # pinned'),
        ("talos_version: 'v1.14.0-rc.1'", "talos_version: 'v1.14.1'"),
    ],
)
def test_only_the_version_changes(before: str, after: str) -> None:
    """Quotes, spaces, comments, other lines and line ends stay."""
    column = len(before) - len(before.removeprefix("talos_version:").lstrip()) + 1
    text = "# first\r\n{}\r\nother: v1.13.9\n"
    found = with_version(text.format(before), Position("cluster.yaml", 2, column), "v1.14.1")
    assert found == text.format(after)


@pytest.mark.parametrize("line", ["talos_version: &v v1.13.9", "talos_version: *v", ""])
def test_other_forms_are_left_to_the_user(line: str) -> None:
    """An anchor may be used elsewhere."""
    with pytest.raises(TalopsError) as refused:
        with_version(f"{line}\n", Position("cluster.yaml", 1, 16), "v1.14.1")
    assert refused.value.where == "cluster.yaml:1:16"
    assert "write v1.14.1 there" in str(refused.value.hint)

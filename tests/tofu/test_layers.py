"""Which layers there are and which one is meant."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from talops.errors import TalopsError
from talops.tofu.layers import choose, find_layers

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name in ("03-legacy/nas", "02-platforms/home", "02-platforms/away", "01-hypervisors"):
        folder = tmp_path / "infrastructure" / name
        folder.mkdir(parents=True)
        (folder / "main.tf").touch()
    (tmp_path / "infrastructure/02-platforms/empty").mkdir()
    (tmp_path / "infrastructure/modules").mkdir()
    return tmp_path


def test_order(root: Path) -> None:
    """Hypervisors first, then platforms, then the rest; folders without files are none."""
    assert [layer.name for layer in find_layers(root)] == [
        "01-hypervisors",
        "02-platforms/away",
        "02-platforms/home",
        "03-legacy/nas",
    ]


@pytest.mark.parametrize(
    ("wanted", "names"),
    [
        (["02-platforms/home"], ["02-platforms/home"]),
        (["infrastructure/02-platforms/home/"], ["02-platforms/home"]),
        (["home"], ["02-platforms/home"]),
        (["hypervisors"], ["01-hypervisors"]),
        (["02-platforms"], ["02-platforms/away", "02-platforms/home"]),
        (["nas", "01-hypervisors"], ["01-hypervisors", "03-legacy/nas"]),
    ],
)
def test_choose(root: Path, wanted: list[str], names: list[str]) -> None:
    """A layer answers to its name, its last part or its group, always in the right order."""
    assert [layer.name for layer in choose(find_layers(root), wanted, root)] == names


def test_unknown(root: Path) -> None:
    """For a name that is not a layer, the error lists the layers."""
    with pytest.raises(TalopsError, match="layer homme does not exist") as caught:
        choose(find_layers(root), ["homme"], root)
    assert "02-platforms/home" in str(caught.value.hint)


def test_nothing_rendered(tmp_path: Path) -> None:
    """Without layers the next command is configure."""
    with pytest.raises(TalopsError) as caught:
        choose(find_layers(tmp_path), None, tmp_path)
    assert caught.value.hint == "talops configure"

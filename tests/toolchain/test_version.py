"""Version numbers as tools print them."""

from __future__ import annotations

import pytest

from talops.toolchain.version import Range, parse, show


@pytest.mark.parametrize(
    ("printed", "number"),
    [
        ("OpenTofu v1.12.6\non linux_amd64", (1, 12, 6)),
        ("Terraform v1.11.4\non linux_amd64", (1, 11, 4)),
        ("sops 3.13.3", (3, 13, 3)),
        ("v1.3.2", (1, 3, 2)),
        ("etcd Version: 3.7.1\nGit SHA: Not provided\nGo Version: go1.26.6", (3, 7, 1)),
        ("Kubernetes v1.36.1", (1, 36, 1)),
        ("Client Version: v1.36.1\nKustomize Version: v5.8.1", (1, 36, 1)),
        ("v3.22.0+g144ca65", (3, 22, 0)),
        ("go version go1.26.6 linux/amd64", (1, 26, 6)),
        ("go version go1.27 linux/amd64", (1, 27, 0)),
        ("OpenTofu v1.13.0-rc1", (1, 13, 0)),
        ("command not found", None),
    ],
)
def test_parse(printed: str, number: tuple[int, int, int] | None) -> None:
    """The tool's own version is found in what it prints."""
    assert parse(printed) == number


@pytest.mark.parametrize(
    ("number", "fits"),
    [
        ((1, 9, 9), False),
        ((1, 10, 0), True),
        ((1, 36, 1), True),
        ((2, 0, 0), False),
    ],
)
def test_range(number: tuple[int, int, int], fits: bool) -> None:
    """A range takes its lower end and leaves its upper end out."""
    assert (number in Range("1.10", "2")) is fits
    assert show(number).count(".") == 2

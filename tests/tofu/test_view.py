"""How a run of OpenTofu looks on a terminal."""

from __future__ import annotations

from io import StringIO

import pytest
from rich.console import Console

from talops.cli.infra.view import Rich, because, lines, short
from talops.tofu.events import Interrupted, ResourceChange

VM = 'module.node["demo-cp-1"].proxmox_virtual_environment_vm.this'
IMAGE = 'proxmox_download_file.image["pve/a.iso"]'


@pytest.mark.parametrize(
    ("address", "expected"),
    [(VM, "VM demo-cp-1"), (IMAGE, 'download_file.image["pve/a.iso"]'), ("a.b", "a.b")],
)
def test_addresses_in_short(address: str, expected: str) -> None:
    """A VM is called by its name; nothing else loses what tells it from others."""
    assert short(address) == expected


@pytest.mark.parametrize(
    ("address", "expected"),
    [(VM, "new VM"), (IMAGE, "new download file"), ("a.b", "new a.b")],
)
def test_a_creation_says_what_is_new(address: str, expected: str) -> None:
    """It has no attribute that causes it."""
    assert because({"address": address, "causes": []}) == expected


def test_what_is_going_on_and_what_is_over() -> None:
    """A resource is in the live part until it is done, then in the lines above it."""
    console = Console(file=StringIO(), width=100)
    view = Rich(console)
    view(ResourceChange("02", VM, "create", "start"))
    assert view.now().row_count == 1
    view(ResourceChange("02", VM, "create", "complete", 3.0))
    assert view.now().row_count == 0
    assert isinstance(console.file, StringIO)
    assert console.file.getvalue().strip() == "✓ create VM demo-cp-1 (3.0s)"


def test_an_interrupt_says_what_happens_now() -> None:
    """After Ctrl-C, the user learns why the run does not end at once, and how it would."""
    (line,) = lines(Interrupted("02-platforms/home"))
    assert "again: stop now" in line

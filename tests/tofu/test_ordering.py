"""The order of restarts, how many at once, and which failures are worth another try."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from talops.tofu.events import Diagnostic
from talops.tofu.judge import Cause, Judged
from talops.tofu.ordering import parallelism, restart_batches
from talops.tofu.plan import VM
from talops.tofu.retry import retryable
from talops.tofu.rules import Effect


def change(name: str, effect: Effect = Effect.RESTARTS) -> Judged:
    role = {"cp": "controlplane", "w": "worker"}.get(name.split("-", maxsplit=1)[0], "")
    return Judged(f"vm.{name}", name, VM, role, effect, ())


@pytest.mark.parametrize(
    ("names", "workers", "batches"),
    [
        ([], 3, []),
        (["cp-1"], 0, [["cp-1"]]),
        (["cp-3", "cp-1", "cp-2"], 0, [["cp-1"], ["cp-2"], ["cp-3"]]),
        (["w-1", "w-2"], 2, [["w-1"], ["w-2"]]),
        (["w-1", "w-2", "w-3", "w-4"], 6, [["w-1", "w-2"], ["w-3", "w-4"]]),
        (["w-1", "cp-1", "x"], 3, [["cp-1"], ["w-1"], ["x"]]),
        (["x", "y"], 0, [["x", "y"]]),
    ],
)
def test_batches(names: list[str], workers: int, batches: list[list[str]]) -> None:
    """Control planes one by one, then a third of the workers at a time, then the rest."""
    found = restart_batches([change(name) for name in names], workers)
    assert [list(batch.names) for batch in found] == batches


def test_a_roll_decides_how_many_and_who_comes_first() -> None:
    """`width` workers at a time; within a role the lower rank is first, whatever the names are."""
    names = ["cp-1", "cp-2", "w-1", "w-2", "w-3"]
    ranks = {"w-3": 0, "w-1": 1, "w-2": 2, "cp-2": 0, "cp-1": 1}
    found = restart_batches([change(name) for name in names], 9, width=2, ranks=ranks)
    assert [list(batch.names) for batch in found] == [["cp-2"], ["cp-1"], ["w-3", "w-1"], ["w-2"]]


def grown(name: str, **more: Any) -> Judged:
    bigger = Cause("disk.scsi0.size", Effect.ONLINE, 32, 64)
    return replace(change(name, Effect.ONLINE), node=name, causes=(bigger,), **more)


def test_a_larger_disk_of_a_node_is_ordered() -> None:
    """Talos uses it after a reboot only; a VM that is off or no node needs none."""
    found = restart_batches([grown("w-1"), grown("w-2", off=True), grown("x")], 2)
    assert [(batch.names, batch.grown) for batch in found] == [(("w-1",), ("w-1",))]
    restarts = replace(grown("w-1"), effect=Effect.RESTARTS)
    assert [batch.grown for batch in restart_batches([restarts], 2)] == [()]


def test_control_planes_that_are_off() -> None:
    """There is nothing to move away from them."""
    found = restart_batches([replace(change("cp-1"), off=True), change("cp-2")], 0)
    assert [(batch.names, batch.off) for batch in found] == [(("cp-1",), True), (("cp-2",), False)]


def test_only_restarts_are_ordered() -> None:
    """What changes online or is new needs no order."""
    changes = [change("cp-1", Effect.ONLINE), change("cp-2", Effect.CREATES)]
    assert restart_batches(changes, 0) == []


@pytest.mark.parametrize(
    ("effects", "wanted", "number"),
    [
        ([Effect.ONLINE], None, 10),
        ([Effect.ONLINE, Effect.CREATES], None, 4),
        ([Effect.REPLACES], None, 4),
        ([Effect.CREATES], 7, 7),
    ],
)
def test_parallelism(effects: list[Effect], wanted: int | None, number: int) -> None:
    """Fewer at once while disks are made, unless the user says otherwise."""
    assert parallelism([change("w-1", effect) for effect in effects], wanted) == number


@pytest.mark.parametrize(
    ("text", "again"),
    [
        ("error updating VM: received an HTTP 500 response - Reason: got timeout", True),
        (
            "can't lock file '/var/lock/qemu-server/lock-100.conf' - got timeout",
            True,
        ),
        ("VM is locked (clone)", True),
        ("error starting VM: got no worker upid", True),
        ("Post https://pve:8006/api2/json: read tcp: connection reset by peer", True),
        ("received an HTTP 596 response", True),
        ("cannot reach pve:8006: Remote end closed connection without response", True),
        ("File already exists: refusing to override existing file 'talos.iso'", True),
        ("Plugin did not respond: the plugin encountered an error", True),
        ("received an HTTP 403 response - Reason: Permission check failed (/vms/101)", False),
        ("received an HTTP 401 response - Reason: authentication failure; got timeout", False),
        ("lvcreate: no space left on device; got timeout", False),
        ("unable to create VM 101 - VM 101 already exists on node 'pve1'", False),
        ("received an HTTP 400 response - Reason: Parameter verification failed.", False),
        ("something nobody has seen before", False),
    ],
)
def test_retryable(text: str, again: bool) -> None:
    """Only failures that are known to pass are tried again."""
    assert bool(retryable([Diagnostic("l", "error", "cannot do it", text)])) is again


@pytest.mark.parametrize(
    ("found", "again"),
    [
        ([("error", "got timeout"), ("error", "got timeout")], True),
        ([("error", "got timeout"), ("error", "permission denied")], False),
        ([("warning", "permission denied"), ("error", "got timeout")], True),
        ([("warning", "got timeout")], False),
        ([], False),
    ],
)
def test_one_final_error_decides(found: list[tuple[str, str]], again: bool) -> None:
    """Trying again helps only if it helps with every error."""
    diagnostics: list[Any] = [Diagnostic("l", severity, "x", text) for severity, text in found]
    assert bool(retryable(diagnostics)) is again

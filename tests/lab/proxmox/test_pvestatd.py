"""What pvestatd tells, and when: held against recorded behaviour of Proxmox VE 9.2.

There a second look at /cluster/resources within ten seconds missed a VM's new name and template
flag, and with the daemon stopped every row became `unknown`, without a name, after five minutes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from talops.lab.faults import Faults, parse
from talops.lab.proxmox.hypervisor import Hypervisor
from talops.lab.proxmox.resources import vm_row
from talops.lab.proxmox.vm.records import Vm
from talops.lab.spec import LabSpec

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


class Host:
    """A hypervisor whose clock the test turns."""

    def __init__(self, directory: Path, pace: float) -> None:
        self.faults = Faults(directory / "faults")
        self.now = 1000.0
        spec = LabSpec().proxmox[0]
        self.pve = Hypervisor(spec, state=directory, faults=self.faults, pace=pace)
        self.pve.uptime = lambda: self.now  # type: ignore[method-assign]

    def put(self, **config: Any) -> None:
        self.pve.vms.put("101", Vm(101, "pve", config))

    def row(self) -> dict[str, Any]:
        self.pve.stats.run(self.pve)
        return vm_row(self.pve, self.pve.vms["101"])


@pytest.fixture
def host(tmp_path: Path) -> Iterator[Host]:
    made = Host(tmp_path, pace=1)
    yield made
    made.pve.store.close()


def test_a_new_vm_is_unknown_until_the_next_round(host: Host) -> None:
    """Without a name or a template flag; where it is and its tags are known to all at once."""
    host.pve.stats.run(host.pve)
    host.put(name="cp1", template=1, tags="a")
    row = host.row()
    assert (row["status"], row["node"], row["tags"]) == ("unknown", "pve", "a")
    assert not {"name", "template", "maxmem"} & set(row)
    host.now += 10
    row = host.row()
    assert (row["status"], row["name"], row["template"]) == ("stopped", "cp1", 1)


def test_a_change_is_seen_ten_seconds_late(host: Host) -> None:
    """What became a template a moment ago is listed as none."""
    host.put(name="talos")
    host.row()
    host.put(name="talos", template=1)
    host.now += 9
    assert host.row()["template"] == 0
    host.now += 1
    assert host.row()["template"] == 1


def test_without_pvestatd_everything_becomes_unknown(host: Host) -> None:
    """For five minutes the last round is shown, then nothing but ids."""
    host.put(name="cp1")
    assert host.row()["name"] == "cp1"
    host.faults.add(parse({"kind": "no-pvestatd"}))
    host.now += 299
    assert host.row()["name"] == "cp1"
    host.now += 1
    assert "name" not in host.row()
    assert host.row()["status"] == "unknown"


def test_a_lab_without_pace_is_always_exact(tmp_path: Path) -> None:
    """Tests that are about something else see changes at once."""
    host = Host(tmp_path, pace=0)
    for name in ("a", "b"):
        host.put(name=name)
        assert host.row()["name"] == name
    host.pve.store.close()

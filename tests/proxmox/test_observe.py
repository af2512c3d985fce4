"""Looking at the lab with tokens of few rights, and at a lab that does not exist."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from tests.proxmox.conftest import plan, running, vm

from talops.lab.faults import Fault
from talops.lab.spec import LabSpec, cluster
from talops.proxmox import guests, tasks
from talops.proxmox.check import look, observe, problems
from talops.proxmox.client import Access, Client, Token
from talops.proxmox.facts import Unread
from talops.redaction import Secret

if TYPE_CHECKING:
    from pathlib import Path

    from tests.proxmox.conftest import Lab

    from talops.proxmox.facts import Guest

P = plan()


async def rules(access: Access) -> list[str]:
    return [each.rule for each in problems(P, await look(access, P))]


async def test_a_token_without_rules_is_told_that_it_sees_nothing(lab: Lab, root: Client) -> None:
    """Empty lists prove nothing: a VM that is invisible can still conflict."""
    await tasks.run(root, "POST", "nodes/pve/qemu", {"vmid": 111, "name": "hidden"})
    found = problems(P, await look(lab.access(lab.token()), P))
    assert found[0].rule == "no-privileges"
    assert "sees no template and no VM" in found[0].what
    assert "pveum acl modify /vms --tokens 'ci@pve!tf'" in found[0].hint
    hidden = [each.what for each in found if each.rule == "vmid"]
    assert hidden == ["VMID 111 of demo-cp-1 is taken by a VM that ci@pve!tf may not see"]


@pytest.mark.parametrize("lasts", [True, False])
async def test_a_vm_that_comes_meanwhile_is_not_hidden(
    lab: Lab, root: Client, monkeypatch: pytest.MonkeyPatch, *, lasts: bool
) -> None:
    """A killed run's OpenTofu may still create it, or remove it again, between two requests."""
    listed, asked = guests.guests, guests.is_taken

    async def before_it_comes(client: Client) -> tuple[Guest, ...]:
        found = await listed(client)
        new = {"vmid": 111, "name": "demo-cp-1", "tags": "demo;talos"}
        await tasks.run(root, "POST", "nodes/pve/qemu", new)
        return found

    async def before_it_goes(client: Client, vm_id: int) -> bool:
        taken = await asked(client, vm_id)
        if taken and not lasts:
            await tasks.run(root, "DELETE", "nodes/pve/qemu/111")
        return taken

    monkeypatch.setattr(guests, "guests", before_it_comes)
    monkeypatch.setattr(guests, "is_taken", before_it_goes)
    assert await rules(lab.access()) == []


async def test_a_revoked_token_is_rejected(lab: Lab) -> None:
    """One finding, and no flood of others that follow from it."""
    assert await rules(lab.access(Token("ci@pve!gone", Secret("x" * 36)))) == ["api"]


async def test_a_proxmox_that_is_not_there(lab: Lab) -> None:
    """Nothing listens on that port."""
    there = lab.access()
    found = problems(P, await look(replace(there, endpoint="https://127.0.0.1:1"), P))
    assert [each.rule for each in found] == ["api"]
    assert "does not answer" in found[0].what


async def test_a_certificate_of_an_unknown_ca(lab: Lab) -> None:
    """Refused with the CA's place, or remarked upon if any certificate is accepted."""
    without = Access(lab.endpoint, lab.access().login)
    found = problems(P, await look(without, P))
    assert [each.rule for each in found] == ["api", "certificate"]
    assert "pve-root-ca.pem" in found[0].hint
    insecure = replace(without, insecure=True)
    found = problems(P, await look(insecure, P))
    assert [(each.rule, str(each.severity)) for each in found] == [("certificate", "warning")]


async def test_collisions_are_read_from_what_is_there(lab: Lab, root: Client) -> None:
    """MAC and address of another VM's configuration, and the VMID itself."""
    config = {
        "vmid": 111,
        "name": "other",
        "net0": "virtio=bc:24:11:00:00:01,bridge=vmbr0",
        "ipconfig0": "ip=10.0.0.11/24,gw=10.0.0.1",
    }
    await tasks.run(root, "POST", "nodes/pve/qemu", config)
    assert await rules(lab.access()) == ["vmid", "mac", "address"]


async def test_our_vm_is_recognised(lab: Lab, root: Client) -> None:
    """The provider gives it the cluster's tag."""
    await tasks.run(
        root,
        "POST",
        "nodes/pve/qemu",
        {
            "vmid": 111,
            "name": "demo-cp-1",
            "tags": "demo;talos",
            "net0": "virtio=BC:24:11:00:00:01,bridge=vmbr0",
        },
    )
    assert await rules(lab.access()) == []


async def test_a_host_that_is_down_hides_nothing_else(tmp_path: Path) -> None:
    """The findings of the other host are complete."""
    spec = LabSpec(proxmox=(cluster("pve", ["pve", "pve2"]),))
    wanted = plan(
        [vm(bridge="vmbr9"), vm("demo-w-1", host="pve2", vm_id=121, mac="M", address="A")]
    )
    async with running(tmp_path / "lab", spec) as lab:
        lab.world.faults.add(Fault(kind="node-offline", node="pve2"))
        facts = await look(lab.access(), wanted)
    found = problems(wanted, facts)
    assert [(each.rule, each.what) for each in found] == [
        ("host", "host pve2 is offline"),
        ("bridge", "host pve has no bridge vmbr9; there are: vmbr0"),
    ]


async def test_what_could_not_be_read_is_not_nothing(lab: Lab) -> None:
    """A failing call leaves a reason, not an empty list."""
    lab.world.faults.add(Fault(kind="error", path="/nodes/pve/network", status=500))
    facts = await look(lab.access(), P)
    assert isinstance(facts.interfaces, Unread)
    assert [each.rule for each in problems(P, facts)] == ["unread"]


async def test_a_vm_is_what_its_config_says(lab: Lab, root: Client, stale: Client) -> None:
    """A list that is seconds old, or empty but for VMIDs, makes no VM another one."""
    given = {"vmid": 111, "name": "demo-cp-1", "tags": "demo;talos", "cores": 2, "memory": 4096}
    await tasks.run(root, "POST", "nodes/pve/qemu", {**given, "net0": f"virtio={P.vms[0].mac}"})
    await tasks.run(root, "POST", "nodes/pve/qemu/111/status/start")
    (fresh,) = await guests.guests(root)
    assert (fresh.name, fresh.running, fresh.cores, fresh.memory) == ("demo-cp-1", True, 2, 4 << 30)
    assert await guests.guests(stale) == (fresh,)
    facts = await observe(stale, P)
    assert not {"vmid", "mac", "leftover"} & {each.rule for each in problems(P, facts)}

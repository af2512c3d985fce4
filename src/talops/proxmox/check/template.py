"""`boot: template`: whether there is a template to clone, and it holds the right Talos."""

from __future__ import annotations

from typing import TYPE_CHECKING

from talops.problems import Severity
from talops.proxmox.check.problem import problem
from talops.proxmox.facts import Unread
from talops.proxmox.provenance import read_provenance

if TYPE_CHECKING:
    from collections.abc import Iterator

    from talops.proxmox.check.problem import HostProblem
    from talops.proxmox.facts import Facts, Guest
    from talops.proxmox.wanted import Wanted, WantedTemplate

BUILD = "talops template build"


def template(wanted: Wanted, facts: Facts) -> Iterator[HostProblem]:
    asked = wanted.template
    if asked is None or isinstance(facts.guests, Unread):
        return
    found = next((guest for guest in facts.guests if guest.vm_id == asked.vm_id), None)
    if found is None:
        hidden = asked.vm_id in facts.hidden_ids
        what = (
            f"VM {asked.vm_id} exists, but {facts.who} may not see it: it is unknown whether "
            "it is the template"
            if hidden
            else f"there is no template {asked.name} (VM {asked.vm_id})"
        )
        yield problem(
            "template", what, "grant VM.Audit on /vms" if hidden else BUILD, "cluster.yaml"
        )
    elif not found.template:
        yield problem(
            "template",
            f"VM {asked.vm_id} ({found.name}) is not a template",
            f"set template_vm_id to a free VMID, then {BUILD}",
            "cluster.yaml",
        )
    else:
        yield from _contents(asked, found)


def _contents(asked: WantedTemplate, found: Guest) -> Iterator[HostProblem]:
    if found.host != asked.host:
        yield problem(
            "template",
            f"template {found.vm_id} is on {found.host}, and the plan clones from {asked.host}",
            f"create one there: {BUILD}; or migrate it: qm migrate {found.vm_id} {asked.host}",
            "cluster.yaml",
        )
    if found.efi_disk:
        yield problem(
            "template",
            f"template {found.vm_id} ({found.name}) has an EFI disk, which the provider cannot "
            "clone: it would move it to the storage that it is on, which Proxmox refuses",
            f"talops template remove {found.name}, then {BUILD}; or, if talops did not create "
            f"it: qm set {found.vm_id} --delete efidisk0",
            "cluster.yaml",
        )
    yield from _holds(asked, found)


def _holds(asked: WantedTemplate, found: Guest) -> Iterator[HostProblem]:
    held = read_provenance(found.description)
    if held is None:
        yield problem(
            "template",
            f"template {found.vm_id} ({found.name}) was not created by talops: it is unknown "
            f"which Talos it holds; the plan is for {asked.version}",
            f"set template_vm_id to a free VMID, then {BUILD}",
            "cluster.yaml",
            Severity.WARNING,
        )
    elif (held.version, held.schematic) != (asked.version, asked.schematic):
        what = (
            f"holds Talos {held.version}, and the plan is for {asked.version}"
            if held.version != asked.version
            else f"has schematic {held.schematic[:12]}, and the nodes need {asked.schematic[:12]}"
        )
        yield problem(
            "template",
            f"template {found.vm_id} ({found.name}) {what}",
            f"talops template remove {found.name}, then {BUILD}; or set template_vm_id to a free "
            "VMID",
            "cluster.yaml",
        )

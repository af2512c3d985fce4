"""boot: template — is there one to clone, and does it hold the right Talos?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from talops.proxmox.check.finding import Finding, Severity
from talops.proxmox.facts import Unread
from talops.proxmox.marks import read_mark

if TYPE_CHECKING:
    from collections.abc import Iterator

    from talops.proxmox.facts import Facts, Guest
    from talops.proxmox.wanted import Wanted, WantedTemplate

BUILD = "talops template build"


def template(wanted: Wanted, facts: Facts) -> Iterator[Finding]:
    asked = wanted.template
    if asked is None or isinstance(facts.guests, Unread):
        return
    found = next((guest for guest in facts.guests if guest.vm_id == asked.vm_id), None)
    if found is None:
        hidden = asked.vm_id in facts.hidden_ids
        what = (
            f"VM {asked.vm_id} is there, and {facts.who} may not see it: nobody can tell whether "
            "it is the template"
            if hidden
            else f"there is no template {asked.name} (VM {asked.vm_id})"
        )
        yield Finding(
            "template", what, "grant VM.Audit on /vms" if hidden else BUILD, "cluster.yaml"
        )
    elif not found.template:
        yield Finding(
            "template",
            f"VM {asked.vm_id} ({found.name}) is no template",
            f"set template_vm_id to a free VMID, then {BUILD}",
            "cluster.yaml",
        )
    else:
        yield from _contents(asked, found)


def _contents(asked: WantedTemplate, found: Guest) -> Iterator[Finding]:
    if found.host != asked.host:
        yield Finding(
            "template",
            f"template {found.vm_id} is on {found.host}, and the plan clones from {asked.host}",
            f"{BUILD} makes one there, or migrate it: qm migrate {found.vm_id} {asked.host}",
            "cluster.yaml",
        )
    if found.efi_disk:
        yield Finding(
            "template",
            f"template {found.vm_id} ({found.name}) has an EFI disk, which the provider cannot "
            "clone: it moves it to the storage that it is on, and Proxmox refuses that",
            f"talops template remove {found.name}, then {BUILD}; of a template that talops did not "
            f"make: qm set {found.vm_id} --delete efidisk0",
            "cluster.yaml",
        )
    yield from _holds(asked, found)


def _holds(asked: WantedTemplate, found: Guest) -> Iterator[Finding]:
    mark = read_mark(found.description)
    if mark is None:
        yield Finding(
            "template",
            f"template {found.vm_id} ({found.name}) was not made by talops: nobody can tell which "
            f"Talos it holds; the plan is for {asked.version}",
            f"set template_vm_id to a free VMID, then {BUILD}",
            "cluster.yaml",
            Severity.WARNING,
        )
    elif (mark.version, mark.schematic) != (asked.version, asked.schematic):
        what = (
            f"holds Talos {mark.version}, and the plan is for {asked.version}"
            if mark.version != asked.version
            else f"has schematic {mark.schematic[:12]}, and the nodes want {asked.schematic[:12]}"
        )
        yield Finding(
            "template",
            f"template {found.vm_id} ({found.name}) {what}",
            f"talops template remove {found.name}, then {BUILD}; or set template_vm_id to a free "
            "VMID",
            "cluster.yaml",
        )

"""`host check`: `observe` reads, `problems` decides; they share only `Facts`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from talops.proxmox.check.api import api
from talops.proxmox.check.collisions import collisions
from talops.proxmox.check.devices import devices
from talops.proxmox.check.hosts import hosts
from talops.proxmox.check.networks import networks
from talops.proxmox.check.observe import look, observe
from talops.proxmox.check.plugins import plugin_problems
from talops.proxmox.check.privileges import privileges
from talops.proxmox.check.storages import storages
from talops.proxmox.check.template import template
from talops.proxmox.facts import Facts, Unread

if TYPE_CHECKING:
    from talops.proxmox.check.problem import HostProblem
    from talops.proxmox.wanted import Wanted

__all__ = ["Facts", "look", "observe", "plugin_problems", "problems"]


def problems(wanted: Wanted, facts: Facts) -> list[HostProblem]:
    """All problems, in the order in which they are best fixed."""
    found = list(api(facts))
    if isinstance(facts.version, Unread):
        return found
    for rule in (privileges, hosts, storages, networks, collisions, devices, template):
        found += rule(wanted, facts)
    return list(dict.fromkeys(found))

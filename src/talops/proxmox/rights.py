"""The minimal roles and access rules for what a plan needs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from talops.proxmox.needs import Need, every_need
from talops.proxmox.wanted import is_address

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from talops.proxmox.wanted import Wanted

# New name → old one: a Proxmox refuses a role with a privilege that it does not know.
RENAMED = {"VM.GuestAgent.Audit": "VM.Monitor"}


@dataclass(frozen=True)
class Grant:
    path: str
    role: str
    propagate: bool


def needs(wanted: Wanted) -> tuple[Need, ...]:
    """Without the needs that others cover."""
    found = list(dict.fromkeys(every_need(wanted)))
    for need in tuple(found):
        others = [each for each in found if each != need]
        if _covered(need, others):
            found = others
    return tuple(found)


def _covered(need: Need, others: Iterable[Need]) -> bool:
    """Whether others cover the need; only required ones can cover a required one."""
    there = {(o.path, o.privilege) for o in others if o.required or not need.required}
    return any(
        all((path, privilege) in there for privilege in privileges)
        for path, privileges in need.instead
    )


def roles(wanted: Iterable[Need], prefix: str) -> dict[str, frozenset[str]]:
    """Role → privileges: one role per kind of object, so that each holds only what it needs."""
    asked = tuple(wanted)
    named = _role_names(asked, prefix)
    found: dict[str, set[str]] = {}
    for need in asked:
        found.setdefault(named[need.role, need.privilege], set()).add(need.privilege)
    return {name: frozenset(privileges) for name, privileges in found.items()}


def _role_names(wanted: Iterable[Need], prefix: str) -> dict[tuple[str, str], str]:
    """A privilege that is not needed on every path of its role gets a role of its own."""
    paths: dict[str, dict[str, set[str]]] = {}
    for need in wanted:
        paths.setdefault(need.role, {}).setdefault(need.privilege, set()).add(need.path)
    named = {}
    for role, by_privilege in paths.items():
        everywhere = set().union(*by_privilege.values())
        for privilege, here in by_privilege.items():
            own = "" if here == everywhere else privilege.rpartition(".")[2]
            named[role, privilege] = f"{prefix}{role}{own}"
    return named


def spoken(privileges: frozenset[str], known: Mapping[str, frozenset[str]]) -> frozenset[str]:
    """Older versions have another name for some; the administrator's role shows which exist."""
    existing = known.get("Administrator")
    if not existing:
        return privileges
    return frozenset(
        RENAMED[name] if name in RENAMED and name not in existing else name for name in privileges
    )


def grants(wanted: Iterable[Need], prefix: str) -> tuple[Grant, ...]:
    asked = tuple(wanted)
    named = _role_names(asked, prefix)
    found: dict[tuple[str, str], bool] = {}
    for need in asked:
        key = (need.path, named[need.role, need.privilege])
        found[key] = found.get(key, False) or need.deep
    return tuple(Grant(path, role, deep) for (path, role), deep in found.items())


def raw_devices(wanted: Wanted) -> tuple[str, ...]:
    """VMs that name PCI addresses: no token may set these, only root@pam itself."""
    return tuple(vm.name for vm in wanted.vms if any(is_address(gpu) for gpu in vm.gpus))

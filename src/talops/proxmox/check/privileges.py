"""Every missing privilege, with the command that grants it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from talops.problems import Severity
from talops.proxmox import pveum
from talops.proxmox.check.problem import problem
from talops.proxmox.facts import Unread
from talops.proxmox.rights import grants, needs, raw_devices, roles, spoken

if TYPE_CHECKING:
    from collections.abc import Iterator

    from talops.proxmox.check.problem import HostProblem
    from talops.proxmox.facts import Facts, Held
    from talops.proxmox.needs import Need
    from talops.proxmox.rights import Grant
    from talops.proxmox.wanted import Wanted

ROLE_PREFIX = "Talops"


def missing(wanted: Wanted, held: Held) -> list[Need]:
    return [need for need in needs(wanted) if not _has(need, held)]


def _has(need: Need, held: Held) -> bool:
    here = held.get(need.path, {})
    if need.privilege in here and (here[need.privilege] or not need.deep):
        return True
    return any(
        all(name in held.get(path, {}) for name in privileges) for path, privileges in need.instead
    )


def privileges(wanted: Wanted, facts: Facts) -> Iterator[HostProblem]:
    if isinstance(facts.permissions, Unread):
        yield problem(
            "privilege",
            f"could not read what {facts.who} may do: {facts.permissions.reason}",
            facts.permissions.hint or "run talops host check again",
            facts.endpoint,
        )
        return
    lacking = missing(wanted, facts.permissions)
    if lacking and not any(facts.permissions.values()):
        yield _nothing(wanted, facts)
        return
    for path in dict.fromkeys(need.path for need in lacking):
        yield _on_path(wanted, facts, [need for need in lacking if need.path == path])
    yield from _root_only(wanted, facts)


def _nothing(wanted: Wanted, facts: Facts) -> HostProblem:
    given = grants(needs(wanted), ROLE_PREFIX)
    return problem(
        "no-privileges",
        f"{facts.who} has no privilege on anything the plan needs: it sees no template and no VM, "
        "and Proxmox shows it empty lists instead of refusing",
        "as an administrator: talops host prepare --user root@pam; or on the host:\n"
        + "\n".join(_lines(wanted, facts, given)),
        facts.endpoint,
    )


def _on_path(wanted: Wanted, facts: Facts, group: list[Need]) -> HostProblem:
    named = ", ".join(f"{need.privilege} ({need.why})" for need in group)
    unseen = any(need.privilege == "VM.Audit" for need in group)
    blind = "; without VM.Audit it sees no template and no VM" if unseen else ""
    path = group[0].path
    return problem(
        "privilege",
        f"{facts.who} lacks {named}{blind}",
        "\n".join(_lines(wanted, facts, _affected(wanted, path))),
        path,
        Severity.ERROR if any(need.required for need in group) else Severity.WARNING,
    )


def _affected(wanted: Wanted, path: str) -> tuple[Grant, ...]:
    """An entry on a path hides inherited entries there, and below it if it propagates. The other
    privileges that are needed there are therefore granted with it.
    """
    every = grants(needs(wanted), ROLE_PREFIX)
    here = [grant for grant in every if grant.path == path]
    deep = path != "/" and any(grant.propagate for grant in here)
    below = [grant for grant in every if deep and grant.path.startswith(f"{path}/")]
    return (*here, *below)


def _lines(wanted: Wanted, facts: Facts, given: tuple[Grant, ...]) -> list[str]:
    asked = needs(wanted)
    names = dict.fromkeys(grant.role for grant in given)
    made = [line for name in names for line in _role_lines(asked, name, facts)]
    return made + [line for grant in given for line in pveum.acl_lines(grant, facts.who)]


def _role_lines(asked: tuple[Need, ...], role: str, facts: Facts) -> list[str]:
    """No command for a role that has all its privileges."""
    known = {} if isinstance(facts.roles, Unread) else facts.roles
    meant = spoken(roles(asked, ROLE_PREFIX)[role], known)
    if role not in known:
        return [pveum.role_line(role, meant)]
    lacking = meant - known[role]
    return [pveum.more_line(role, lacking)] if lacking else []


def _root_only(wanted: Wanted, facts: Facts) -> Iterator[HostProblem]:
    if facts.by_password and facts.who == "root@pam":
        return
    for name in raw_devices(wanted):
        yield problem(
            "raw-device",
            f"{name} names a PCI address, which no token may set, only root@pam with its password",
            "name a PCI mapping in `gpus` instead (talops host prepare creates one)",
            next(vm.where for vm in wanted.vms if vm.name == name),
        )

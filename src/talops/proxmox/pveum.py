"""The equivalent commands for an administrator on the host."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from talops.proxmox.rights import Grant


def role_line(name: str, privileges: Iterable[str]) -> str:
    return f"pveum role add {name} --privs {_listed(privileges)}"


def more_line(name: str, privileges: Iterable[str]) -> str:
    """Adds missing privileges to an existing role."""
    return f"pveum role modify {name} --append 1 --privs {_listed(privileges)}"


def _listed(privileges: Iterable[str]) -> str:
    return shlex.quote(" ".join(sorted(privileges)))


def user_line(user: str, comment: str) -> str:
    return f"pveum user add {shlex.quote(user)} --comment {shlex.quote(comment)}"


def token_line(user: str, name: str, comment: str) -> str:
    return (
        f"pveum user token add {shlex.quote(user)} {shlex.quote(name)} --privsep 0 "
        f"--comment {shlex.quote(comment)}"
    )


ROOT = "root@pam"
ONLY_IF = "# only if the user lacks it too: this replaces what it inherits here"


def acl_line(grant: Grant, who: str) -> str:
    """`who` is a user, or a token by its full name."""
    kind = "tokens" if "!" in who else "users"
    return (
        f"pveum acl modify {shlex.quote(grant.path)} --{kind} {shlex.quote(who)} "
        f"--roles {grant.role} --propagate {int(grant.propagate)}"
    )


def acl_lines(grant: Grant, who: str) -> list[str]:
    """A token may have separate privileges, and never more than its user; it cannot see which of
    the two lacks them.
    """
    user, _, token = who.partition("!")
    if not token or user == ROOT:
        return [acl_line(grant, who)]
    return [acl_line(grant, who), f"{acl_line(grant, user)}  {ONLY_IF}"]


def content_line(storage: str, content: Iterable[str]) -> str:
    return f"pvesm set {shlex.quote(storage)} --content {','.join(sorted(content))}"


def mapping_line(name: str, entries: Iterable[str]) -> str:
    listed = " ".join(f"--map {shlex.quote(entry)}" for entry in entries)
    return f"pvesh create /cluster/mapping/pci --id {shlex.quote(name)} {listed}"

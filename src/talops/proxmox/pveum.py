"""The lines that an administrator types on the host instead."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from talops.proxmox.rights import Grant


def role_line(name: str, privileges: Iterable[str]) -> str:
    return f"pveum role add {name} --privs {_listed(privileges)}"


def more_line(name: str, privileges: Iterable[str]) -> str:
    """What a role that exists lacks is added to it."""
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


def acl_line(grant: Grant, who: str) -> str:
    """For a token also its user: a token never has more rights than the user it belongs to."""
    user, _, token = who.partition("!")
    subject = f"--users {shlex.quote(user)}"
    if token:
        subject += f" --tokens {shlex.quote(who)}"
    return (
        f"pveum acl modify {shlex.quote(grant.path)} {subject} --roles {grant.role} "
        f"--propagate {int(grant.propagate)}"
    )


def content_line(storage: str, content: Iterable[str]) -> str:
    return f"pvesm set {shlex.quote(storage)} --content {','.join(sorted(content))}"


def mapping_line(name: str, entries: Iterable[str]) -> str:
    listed = " ".join(f"--map {shlex.quote(entry)}" for entry in entries)
    return f"pvesh create /cluster/mapping/pci --id {shlex.quote(name)} {listed}"

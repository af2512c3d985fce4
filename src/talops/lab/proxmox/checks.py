"""What a call asks of its caller, as small values that read like Proxmox' own schema."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from talops.lab.proxmox.errors import PveError, denied

if TYPE_CHECKING:
    from talops.lab.proxmox.call import Call

Check = Callable[["Call"], None]


def perm(path: str, *privileges: str, any_of: bool = False) -> Check:
    """`{name}` in the path is filled from the call's parameters."""

    def check(call: Call) -> None:
        filled = re.sub(r"\{(.+?)\}", lambda match: str(call.params.get(match[1], "")), path)
        call.need(filled, *privileges, any_of=any_of)

    return check


def either(*checks: Check) -> Check:
    def check(call: Call) -> None:
        for one in checks:
            with suppress(PveError):
                return one(call)
        raise denied("")

    return check


def both(*checks: Check) -> Check:
    def check(call: Call) -> None:
        for one in checks:
            one(call)

    return check


def with_param(name: str, inner: Check) -> Check:
    """Holds only if the parameter was given: a right on a pool helps whoever names the pool."""

    def check(call: Call) -> None:
        if not call.get(name):
            raise denied("")
        inner(call)

    return check


def self_only(call: Call) -> None:
    """A token is not its user: it cannot make more of its kind."""
    if call.params["userid"] != call.user:
        raise denied("")


def realm(privilege: str) -> Check:
    def check(call: Call) -> None:
        call.need(f"/access/realm/{call.params['userid'].rpartition('@')[2]}", privilege)

    return check


def user_group(*privileges: str) -> Check:
    """A right on all groups, or on one that the user belongs to."""

    def check(call: Call) -> None:
        if call.may("/access/groups", *privileges, any_of=True):
            return
        user = call.pve.users.get(str(call.params.get("userid", ""))) or {}
        groups = [*str(user.get("groups", "")).split(","), *str(call.get("groups", "")).split(",")]
        if any(g and call.may(f"/access/groups/{g}", *privileges, any_of=True) for g in groups):
            return
        raise denied(f"/access/groups, {'|'.join(privileges)}")

    return check


NETWORK_ACCESS = either(
    perm("/", "Sys.Audit", "Sys.Modify"), perm("/nodes/{node}", "Sys.AccessNetwork")
)

"""Permissions: Proxmox' expressions about the caller, as its API schema contains them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from talops.lab.proxmox.errors import PveError, denied, failed
from talops.lab.proxmox.schema.formats import FORMATS, split_list
from talops.lab.proxmox.schema.params import FormatError

if TYPE_CHECKING:
    from talops.lab.proxmox.call import Call

PATH = re.compile(r"[A-Za-z0-9._/-]+")
FORBIDDEN = 403
OWNERS = {
    "/storage/": "Datastore.Allocate",
    "/vms/": "VM.Allocate",
    "/pool/": "Pool.Allocate",
}


def normal_path(path: str) -> str:
    """One slash between the parts, none at the end; empty if a character is not allowed."""
    if not path:
        return ""
    short = re.sub(r"/+", "/", path)
    short = short.removesuffix("/") or "/"
    short = short if short.startswith("/") else f"/{short}"
    return short if PATH.fullmatch(short) else ""


def check_caller(call: Call, check: Any) -> None:
    """Refuse the call unless the expression is true; it reads the parameters as sent."""
    if check in {"world", "all"} if isinstance(check, str) else call.is_root:
        return
    _check(call, check)


def _check(call: Call, check: list[Any]) -> None:
    kind, rest = check[0], check[1:]
    if kind == "and":
        for part in rest:
            _check(call, part)
    elif kind == "or":
        _any_of(call, rest)
    elif kind == "perm":
        _path(call, *rest)
    elif kind == "perm-modify":
        need_modify(call, normal_path(_filled(call, rest[0])))
    elif kind == "userid-param":
        _user(call, rest[0])
    elif kind == "userid-group":
        _group(call, *rest)
    else:
        raise failed("unknown permission test")


def _any_of(call: Call, parts: list[Any]) -> None:
    """True if one part is true; for a user that does not exist, only its part is false."""
    for part in parts:
        try:
            return _check(call, part)
        except PveError as error:
            if error.status != FORBIDDEN and not error.message.startswith("no such user"):
                raise
    raise denied("")


def _path(call: Call, template: str, privileges: list[str], *options: Any) -> None:
    given = dict(zip(options[::2], options[1::2], strict=True))
    if "require_param" in given and call.get(given["require_param"]) is None:
        raise denied("")
    path = normal_path(_filled(call, template))
    call.need(path, *privileges, any_of=bool(given.get("any")))


def _filled(call: Call, template: str) -> str:
    return re.sub(r"\{(.+?)\}", lambda match: str(call.get(match[1]) or "-"), template)


def need_modify(call: Call, path: str) -> None:
    """Users who can grant access to an object can also list its access rules."""
    owner = next((right for start, right in OWNERS.items() if path.startswith(start)), None)
    call.need(path, "Permissions.Modify", *([owner] if owner else []), any_of=True)


def may_modify(call: Call, path: str) -> bool:
    try:
        need_modify(call, path)
    except PveError:
        return False
    return True


def user_name(value: str) -> str:
    """The name, or the error of Proxmox; 500, because it is not a parameter check."""
    try:
        FORMATS["pve-userid"](value)
    except FormatError as error:
        raise failed(str(error).rstrip("\n")) from None
    return value


def _user(call: Call, what: str) -> None:
    """A token is not its user: it cannot create further tokens."""
    name = user_name(str(call.get("userid", "")))
    if what == "self":
        if name not in call.pve.users or call.user != name:
            raise denied("")
        return
    call.need(f"/access/realm/{name.rpartition('@')[2]}", what)


def _group(call: Call, privileges: list[str], *options: Any) -> None:
    """A privilege on all groups; or on those given, and on one that the user is in."""
    given = dict(zip(options[::2], options[1::2], strict=True))
    new = given.get("groups_param") == "create"
    name = str(call.get("userid", ""))
    user = call.pve.users.get(name)
    if not new and user is None:
        raise failed(f"no such user ('{user_name(name)}')")
    if call.may("/access/groups", *privileges, any_of=True):
        return
    mine = {
        name
        for name in call.pve.groups
        if call.may(f"/access/groups/{name}", *privileges, any_of=True)
    }
    if given:
        wanted = split_list(str(call.get("groups", "")))
        missing = next((f"/{name}" for name in wanted if name not in mine), None)
        if missing or not wanted:
            raise denied(f"/access/groups{missing or ''}, {'|'.join(privileges)}")
    if not new and not mine & set(split_list(str((user or {}).get("groups", "")))):
        raise denied("")

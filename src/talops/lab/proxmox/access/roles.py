"""Roles, and access control lists that assign them to users on paths."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from talops.lab.proxmox.access.privileges import ROLES
from talops.lab.proxmox.access.rights import acl_key
from talops.lab.proxmox.errors import failed, invalid, prefixed
from talops.lab.proxmox.routing import route
from talops.lab.proxmox.schema.checks import may_modify, normal_path, user_name
from talops.lab.proxmox.schema.formats import split_list

if TYPE_CHECKING:
    from talops.lab.proxmox.call import Call


@route("GET", "/access/roles")
def list_roles(call: Call) -> list[dict[str, Any]]:
    built_in = [
        {"roleid": name, "privs": ",".join(sorted(privs)), "special": 1}
        for name, privs in ROLES.items()
    ]
    custom = [
        {"roleid": role["roleid"], "privs": ",".join(role["privs"]), "special": 0}
        for role in call.pve.roles.values()
    ]
    return call.pve.shuffled(built_in + custom)


@route("GET", "/access/roles/{roleid}")
def read_role(call: Call) -> dict[str, int]:
    name = call.params["roleid"]
    if name not in ROLES and name not in call.pve.roles:
        raise failed(f"role '{name}' does not exist")
    return dict.fromkeys(sorted(call.pve.rights.role(name)), 1)


def _privileges(call: Call) -> list[str]:
    return sorted(set(split_list(str(call.get("privs", "")))))


@route("POST", "/access/roles")
def create_role(call: Call) -> None:
    name = call.params["roleid"]
    if name.upper().startswith("PVE"):
        problem = "cannot use role ID starting with the (case-insensitive) 'PVE' namespace"
        raise invalid({"roleid": problem})
    with prefixed("create role failed"):
        if name in ROLES or name in call.pve.roles:
            raise failed(f"role '{name}' already exists")
    call.pve.roles.put(name, {"roleid": name, "privs": _privileges(call)})
    call.pve.rights.changed()


def _need_custom(call: Call) -> dict[str, Any]:
    role = call.pve.roles.get(call.params["roleid"])
    if role is None:
        raise failed(f"role '{call.params['roleid']}' does not exist")
    return role


@route("PUT", "/access/roles/{roleid}")
def change_role(call: Call) -> None:
    name = call.params["roleid"]
    if name in ROLES:
        raise failed(f"auto-generated role '{name}' cannot be modified")
    with prefixed("update role failed"):
        role = _need_custom(call)
    privs = _privileges(call)
    if call.get("append"):
        privs = sorted({*role["privs"], *privs})
    call.pve.roles.put(name, {"roleid": name, "privs": privs})
    call.pve.rights.changed()


@route("DELETE", "/access/roles/{roleid}")
def delete_role(call: Call) -> None:
    name = call.params["roleid"]
    if name in ROLES:
        raise failed(f"auto-generated role '{name}' cannot be deleted")
    with prefixed("delete role failed"):
        _need_custom(call)
    call.pve.roles.drop(name)
    for key, entry in call.pve.acl.items():
        if entry["roleid"] == name:
            call.pve.acl.drop(key)
    call.pve.rights.changed()


# -- access control lists ----

WORD = r"[A-Za-z0-9._-]+"
SDN = r"controllers(/[\w-]+)?|(dns|fabrics|ipams|prefix-lists|route-maps)(/[A-Za-z0-9]+)?"
PATHS = re.compile(
    rf"/|/access(/groups(/{WORD})?|/realm(/{WORD})?)?|/nodes(/{WORD})?|/pool(/{WORD}){{0,3}}"
    rf"|/sdn(/({SDN}|zones(/{WORD}(/{WORD}(/[1-9][0-9]{{0,3}})?)?)?))?"
    rf"|/storage(/{WORD})?|/vms(/[1-9][0-9]{{2,}})?|/mapping(/{WORD}){{0,2}}"
)


@route("GET", "/access/acl")
def list_acl(call: Call) -> list[dict[str, Any]]:
    audit = call.may("/access", "Sys.Audit")
    rows = call.pve.acl.values()
    return call.pve.shuffled([e for e in rows if audit or may_modify(call, e["path"])])


@route("PUT", "/access/acl")
def change_acl(call: Call) -> None:
    targets = [
        (kind, name)
        for kind in ("group", "user", "token")
        for name in split_list(str(call.get(f"{kind}s", "")))
    ]
    if not targets:
        missing = "either 'users', 'groups' or 'tokens' is required."
        raise invalid(dict.fromkeys(("users", "groups", "tokens"), missing))
    path = normal_path(call.params["path"])
    if not path or not (call.get("delete") or PATHS.fullmatch(path)):
        raise invalid({"path": f"invalid ACL path '{call.params['path']}'"})
    with prefixed("ACL update failed"):
        entries = [
            entry
            for role in split_list(call.params["roles"])
            for entry in _entries(call, path, role, targets)
        ]
    for entry in entries:
        if call.get("delete"):
            call.pve.acl.drop(acl_key(entry))
        else:
            call.pve.acl.put(acl_key(entry), entry)
    call.pve.rights.changed()


def _entries(
    call: Call, path: str, role: str, targets: list[tuple[str, str]]
) -> list[dict[str, Any]]:
    if role not in ROLES and role not in call.pve.roles:
        raise failed(f"role '{role}' does not exist")
    _check_own(call, path, role)
    for kind, name in targets:
        _need_target(call, kind, name)
    deep = call.get("propagate", 1)
    return [
        {"path": path, "type": kind, "ugid": name, "roleid": role, "propagate": deep}
        for kind, name in targets
    ]


def _check_own(call: Call, path: str, role: str) -> None:
    """Without Permissions.Modify users can grant only their own privileges."""
    held = call.pve.rights.privileges(call.user, path)
    if "Permissions.Modify" in held:
        return
    start = f"Cannot {'remove' if call.get('delete') else 'add'} role '{role}'"
    wanted = call.pve.rights.role(role)
    if any(name not in held for name in wanted):
        problem = "requires 'Permissions.Modify' or superset of privileges."
        raise invalid({"role": f"{start} - {problem}"})
    deep = call.get("propagate", 1) and not call.get("delete")
    if deep and any(not held[name] for name in wanted):
        problem = "requires 'Permissions.Modify' or propagated superset of privileges."
        raise invalid({"role": f"{start} with propagation - {problem}"})
    if role == "NoAccess":
        raise invalid({"role": f"{start} - requires 'Permissions.Modify'"})


def _need_target(call: Call, kind: str, name: str) -> None:
    if kind == "token":
        user, _, token = name.partition("!")
        if user not in call.pve.users:
            raise failed(f"no such user ('{user}')")
        if name not in call.pve.tokens:
            raise failed(f"no such token '{token}' for user '{user}'")
        return
    table = {"user": call.pve.users, "group": call.pve.groups}[kind]
    if name not in table:
        raise failed(f"{kind} '{user_name(name) if kind == 'user' else name}' does not exist")

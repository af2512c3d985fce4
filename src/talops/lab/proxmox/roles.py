"""Roles, and access control lists that give them to somebody somewhere."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from talops.lab.proxmox.checks import perm
from talops.lab.proxmox.errors import failed, invalid
from talops.lab.proxmox.privileges import PRIVILEGES, ROLES
from talops.lab.proxmox.rights import acl_key
from talops.lab.proxmox.routing import route

if TYPE_CHECKING:
    from talops.lab.proxmox.call import Call


ROLES_RIGHT = perm("/access", "Sys.Modify")


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
    return built_in + custom


@route("GET", "/access/roles/{roleid}")
def read_role(call: Call) -> dict[str, int]:
    name = call.params["roleid"]
    if name not in ROLES and name not in call.pve.roles:
        raise failed(f"role '{name}' does not exist")
    return dict.fromkeys(sorted(call.pve.rights.role(name)), 1)


def _privileges(call: Call) -> list[str]:
    names = [name for name in re.split(r"[,; ]", str(call.get("privs", ""))) if name]
    unknown = next((name for name in names if name not in PRIVILEGES), None)
    if unknown:
        raise invalid({"privs": f"invalid format - invalid privilege '{unknown}'\n"})
    return sorted(set(names))


@route("POST", "/access/roles", "roleid!:str privs:str", ROLES_RIGHT)
def create_role(call: Call) -> None:
    name = call.params["roleid"]
    if name in ROLES or name in call.pve.roles:
        raise failed(f"create role failed: role '{name}' already exists")
    call.pve.roles.put(name, {"roleid": name, "privs": _privileges(call)})
    call.pve.rights.changed()


@route("PUT", "/access/roles/{roleid}", "privs:str append:bool", ROLES_RIGHT)
def change_role(call: Call) -> None:
    name = call.params["roleid"]
    if name in ROLES:
        raise failed(f"auto-generated role '{name}' cannot be modified")
    role = call.pve.roles.get(name)
    if role is None:
        raise failed(f"role '{name}' does not exist")
    privs = _privileges(call)
    if call.get("append"):
        privs = sorted({*role["privs"], *privs})
    call.pve.roles.put(name, {"roleid": name, "privs": privs})
    call.pve.rights.changed()


@route("DELETE", "/access/roles/{roleid}", "", ROLES_RIGHT)
def delete_role(call: Call) -> None:
    name = call.params["roleid"]
    if name in ROLES:
        raise failed(f"auto-generated role '{name}' cannot be deleted")
    if name not in call.pve.roles:
        raise failed(f"role '{name}' does not exist")
    call.pve.roles.drop(name)
    for key, entry in call.pve.acl.items():
        if entry["roleid"] == name:
            call.pve.acl.drop(key)
    call.pve.rights.changed()


# -- access control lists ----

PATHS = re.compile(
    r"/|/access(/groups(/[^/]+)?|/realm(/[^/]+)?)?|/nodes(/[\w.-]+)?|/pool(/.+)?|/sdn(/.+)?"
    r"|/storage(/[\w.-]+)?|/vms(/\d+)?|/mapping(/(pci|usb|dir|hwrng)(/[\w.-]+)?)?"
)


@route("GET", "/access/acl")
def list_acl(call: Call) -> list[dict[str, Any]]:
    if call.may("/access", "Sys.Audit"):
        return call.pve.acl.values()
    return [e for e in call.pve.acl.values() if call.may(e["path"], "Permissions.Modify")]


@route(
    "PUT",
    "/access/acl",
    "path!:str roles!:str users:str groups:str tokens:str propagate:bool delete:bool",
)
def change_acl(call: Call) -> None:
    path = "/" + call.params["path"].strip("/")
    if not PATHS.fullmatch(path):
        raise invalid({"path": f"invalid ACL path '{path}'"})
    call.need(path, *_may_modify(path), any_of=True)
    targets = [
        (kind, name)
        for kind in ("user", "group", "token")
        for name in str(call.get(f"{kind}s", "")).split(",")
        if name
    ]
    if not targets:
        raise invalid(
            dict.fromkeys(
                ("users", "groups", "tokens"), "either 'users', 'groups' or 'tokens' is required."
            )
        )
    for role in call.params["roles"].split(","):
        if role not in ROLES and role not in call.pve.roles:
            raise failed(f"role '{role}' does not exist")
        _check_own(call, path, role)
        for kind, name in targets:
            _set_acl(call, path, role, kind, name)
    call.pve.rights.changed()


def _check_own(call: Call, path: str, role: str) -> None:
    """Without Permissions.Modify nobody hands out more than they have."""
    held = call.pve.rights.privileges(call.user, path)
    if "Permissions.Modify" in held:
        return
    verb = "remove" if call.get("delete") else "add"
    if role == "NoAccess" or any(name not in held for name in call.pve.rights.role(role)):
        problem = f"Cannot {verb} role '{role}' - requires 'Permissions.Modify' or superset of"
        raise invalid({"role": f"{problem} privileges."})


def _may_modify(path: str) -> list[str]:
    """Whoever may give a thing away may also say who else has it."""
    owners = {
        "/storage/": "Datastore.Allocate",
        "/vms/": "VM.Allocate",
        "/pool/": "Pool.Allocate",
    }
    more = [right for prefix, right in owners.items() if path.startswith(prefix)]
    return ["Permissions.Modify", *more]


def _set_acl(call: Call, path: str, role: str, kind: str, name: str) -> None:
    table = {"user": call.pve.users, "group": call.pve.groups, "token": call.pve.tokens}[kind]
    entry = {
        "path": path,
        "type": kind,
        "ugid": name,
        "roleid": role,
        "propagate": call.get("propagate", 1),
    }
    if call.get("delete"):
        call.pve.acl.drop(acl_key(entry))
        return
    if name not in table:
        raise failed(f"{kind} '{name}' does not exist")
    call.pve.acl.put(acl_key(entry), entry)

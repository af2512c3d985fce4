"""Groups of users."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from talops.lab.proxmox.access.tokens import forget
from talops.lab.proxmox.errors import failed, prefixed
from talops.lab.proxmox.routing import route
from talops.lab.proxmox.schema.formats import split_list

if TYPE_CHECKING:
    from talops.lab.proxmox.call import Call
    from talops.lab.proxmox.store import Document

SEE = ("User.Modify", "Sys.Audit", "Group.Allocate")


def _members(call: Call, group: str) -> list[str]:
    users = call.pve.users.values()
    return [u["userid"] for u in users if group in split_list(str(u.get("groups", "")))]


def _existing(call: Call) -> Document:
    group = call.pve.groups.get(call.params["groupid"])
    if group is None:
        raise failed(f"group '{call.params['groupid']}' does not exist")
    return group


@route("GET", "/access/groups")
def list_groups(call: Call) -> list[dict[str, Any]]:
    rows = []
    for name, group in call.pve.groups.items():
        if not call.may(f"/access/groups/{name}", *SEE, any_of=True):
            continue
        comment = {"comment": group["comment"]} if "comment" in group else {}
        members = ",".join(sorted(_members(call, name)))
        rows.append({"groupid": name, **comment, "users": members})
    return call.pve.shuffled(rows)


@route("POST", "/access/groups")
def create_group(call: Call) -> None:
    name = call.params["groupid"]
    with prefixed("create group failed"):
        if name in call.pve.groups:
            raise failed(f"group '{name}' already exists")
    call.pve.groups.put(name, {k: v for k, v in call.params.items() if v})


@route("GET", "/access/groups/{groupid}")
def read_group(call: Call) -> dict[str, Any]:
    group = _existing(call)
    comment = {"comment": group["comment"]} if "comment" in group else {}
    return {**comment, "members": _members(call, group["groupid"])}


@route("PUT", "/access/groups/{groupid}")
def change_group(call: Call) -> None:
    with prefixed("update group failed"):
        group = _existing(call)
    call.pve.groups.put(call.params["groupid"], {**group, **call.params})


@route("DELETE", "/access/groups/{groupid}")
def delete_group(call: Call) -> None:
    with prefixed("delete group failed"):
        name = _existing(call)["groupid"]
    for user in call.pve.users.values():
        kept = [group for group in split_list(str(user.get("groups", ""))) if group != name]
        call.pve.users.put(user["userid"], {**user, "groups": ",".join(kept)})
    forget(call, "group", name)
    call.pve.groups.drop(name)
    call.pve.rights.changed()

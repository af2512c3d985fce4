"""Logging in, users and groups."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from talops.lab.proxmox.checks import both, perm, realm, user_group
from talops.lab.proxmox.errors import denied, failed, invalid
from talops.lab.proxmox.login import hash_password
from talops.lab.proxmox.routing import route
from talops.lab.proxmox.tokens import forget, need_user, tokens_of
from talops.lab.proxmox.tokens import shown as token_shown

if TYPE_CHECKING:
    from talops.lab.proxmox.call import Call
    from talops.lab.proxmox.store import Document


REALMS = ("pam", "pve")
USER = (
    "comment:str email:str enable:bool expire:int:0.. firstname:str lastname:str groups:str "
    "keys:str"
)
USERID = re.compile(r"[^\s:/@!]+@[A-Za-z][A-Za-z0-9.\-_]+")

# -- logging in ----


@route(
    "POST",
    "/access/ticket",
    "username!:str password!:str realm:str otp:str path:str privs:str "
    "new-format:bool tfa-challenge:str",
    free=True,
)
def ticket(call: Call) -> dict[str, Any]:
    username = call.params["username"]
    if "@" not in username:
        username = f"{username}@{call.get('realm', 'pam')}"
    call.pve.login.password(username, call.params["password"])
    value, csrf = call.pve.login.ticket(username)
    return {
        "username": username,
        "ticket": value,
        "CSRFPreventionToken": csrf,
        "clustername": call.pve.name,
        "cap": {},
    }


@route("GET", "/access/permissions", "path:str userid:str")
def permissions(call: Call) -> dict[str, dict[str, int]]:
    who = call.get("userid") or call.user
    if who != call.user and who.split("!")[0] != call.user:
        call.need("/access", "Sys.Audit")
    paths = [call.params["path"]] if call.get("path") else _known_paths(call)
    held = {path: call.pve.rights.privileges(who, path) for path in paths}
    return {
        path: dict(sorted(privs.items()))
        for path, privs in held.items()
        if privs or call.get("path")
    }


def _known_paths(call: Call) -> list[str]:
    fixed = {
        "/",
        "/access",
        "/access/groups",
        "/nodes",
        "/pool",
        "/sdn",
        "/storage",
        "/vms",
        "/mapping",
    }
    return sorted(fixed | {entry["path"] for entry in call.pve.acl.values()})


# -- users ----


def _shown(user: Document) -> dict[str, Any]:
    hidden = {"userid", "password"}
    data = {key: value for key, value in user.items() if key not in hidden}
    data["groups"] = [group for group in str(user.get("groups", "")).split(",") if group]
    return data


@route("GET", "/access/users", "enabled:bool full:bool")
def list_users(call: Call) -> list[dict[str, Any]]:
    own = call.user.split("!")[0]
    may = call.may("/access/groups", "User.Modify", "Sys.Audit", any_of=True)
    users = [user for user in call.pve.users.values() if may or user["userid"] == own]
    return [_listed(call, user) for user in users]


def _listed(call: Call, user: Document) -> dict[str, Any]:
    """Groups and tokens only on demand: here the groups are one string."""
    row = {key: value for key, value in _shown(user).items() if key != "groups"}
    row |= {"userid": user["userid"], "realm-type": user["userid"].rpartition("@")[2]}
    if call.get("full"):
        row["groups"] = user.get("groups", "")
        tokens = tokens_of(call, user["userid"])
        row["tokens"] = [{"tokenid": token["tokenid"], **token_shown(token)} for token in tokens]
    return row


@route("GET", "/access/users/{userid}", "", user_group("User.Modify", "Sys.Audit"))
def read_user(call: Call) -> dict[str, Any]:
    user = need_user(call)
    tokens = {t["tokenid"]: token_shown(t) for t in tokens_of(call, user["userid"])}
    return {**_shown(user), **({"tokens": tokens} if tokens else {})}


@route(
    "POST",
    "/access/users",
    f"userid!:str password:str {USER}",
    both(realm("Realm.AllocateUser"), user_group("User.Modify")),
)
def create_user(call: Call) -> None:
    name = call.params["userid"]
    if not USERID.fullmatch(name):
        raise invalid({"userid": f"value '{name}' does not look like a valid user name"})
    if name.rpartition("@")[2] not in REALMS:
        raise failed(f"create user failed: realm '{name.rpartition('@')[2]}' does not exist")
    if name in call.pve.users:
        raise failed(f"create user failed: user '{name}' already exists")
    user = {"enable": 1, "expire": 0, **call.params}
    if "password" in user:
        user["password"] = hash_password(user["password"])
    call.pve.users.put(name, user)
    call.pve.rights.changed()


@route("PUT", "/access/users/{userid}", f"append:bool {USER}", user_group("User.Modify"))
def change_user(call: Call) -> None:
    user = need_user(call)
    changes = {key: value for key, value in call.params.items() if key != "append"}
    call.pve.users.put(user["userid"], {**user, **changes})
    call.pve.rights.changed()


@route(
    "DELETE",
    "/access/users/{userid}",
    "",
    both(realm("Realm.AllocateUser"), user_group("User.Modify")),
)
def delete_user(call: Call) -> None:
    name = need_user(call)["userid"]
    if name == "root@pam":
        raise failed("delete user failed: user 'root@pam' cannot be removed")
    for token in tokens_of(call, name):
        forget(call, "token", f"{name}!{token['tokenid']}")
        call.pve.tokens.drop(f"{name}!{token['tokenid']}")
    forget(call, "user", name)
    call.pve.users.drop(name)
    call.pve.rights.changed()


@route("PUT", "/access/password", "userid!:str password!:str confirmation-password:str")
def change_password(call: Call) -> None:
    if call.params["userid"] != call.user and not call.may("/access/groups", "User.Modify"):
        raise denied("/access/groups, User.Modify")
    user = need_user(call)
    call.pve.users.put(user["userid"], {**user, "password": hash_password(call.params["password"])})


# -- groups ----


@route("GET", "/access/groups")
def list_groups(call: Call) -> list[dict[str, Any]]:
    return [
        {"groupid": g["groupid"], "comment": g.get("comment", "")} for g in call.pve.groups.values()
    ]


@route(
    "POST", "/access/groups", "groupid!:str comment:str", perm("/access/groups", "Group.Allocate")
)
def create_group(call: Call) -> None:
    name = call.params["groupid"]
    if name in call.pve.groups:
        raise failed(f"create group failed: group '{name}' already exists")
    call.pve.groups.put(name, dict(call.params))


@route(
    "GET",
    "/access/groups/{groupid}",
    "",
    perm("/access/groups", "Sys.Audit", "Group.Allocate", any_of=True),
)
def read_group(call: Call) -> dict[str, Any]:
    group = call.pve.groups.get(call.params["groupid"])
    if group is None:
        raise failed(f"group '{call.params['groupid']}' does not exist")
    members = [
        u["userid"]
        for u in call.pve.users.values()
        if group["groupid"] in str(u.get("groups", "")).split(",")
    ]
    return {"comment": group.get("comment", ""), "members": members}


@route("PUT", "/access/groups/{groupid}", "comment:str", perm("/access/groups", "Group.Allocate"))
def change_group(call: Call) -> None:
    read_group(call)
    call.pve.groups.put(call.params["groupid"], dict(call.params))


@route("DELETE", "/access/groups/{groupid}", "", perm("/access/groups", "Group.Allocate"))
def delete_group(call: Call) -> None:
    read_group(call)
    forget(call, "group", call.params["groupid"])
    call.pve.groups.drop(call.params["groupid"])
    call.pve.rights.changed()

"""Users, tokens, roles, ACLs: the calls behind `pveum`."""

from __future__ import annotations

import re
import uuid
from typing import TYPE_CHECKING, Any

from talops.lab.proxmox.checks import both, either, perm, realm, self_only, user_group
from talops.lab.proxmox.errors import denied, failed, invalid
from talops.lab.proxmox.hypervisor import token_secret
from talops.lab.proxmox.login import hash_password
from talops.lab.proxmox.privileges import PRIVILEGES, ROLES
from talops.lab.proxmox.rights import acl_key
from talops.lab.proxmox.routing import route

if TYPE_CHECKING:
    from talops.lab.proxmox.call import Call
    from talops.lab.proxmox.store import Document

REALMS = ("pam", "pve")
USER = (
    "comment:str email:str enable:bool expire:int:0.. firstname:str lastname:str groups:str "
    "keys:str"
)
OWN_TOKENS = either(self_only, user_group("User.Modify"))
ROLES_RIGHT = perm("/access", "Sys.Modify")
USERID = re.compile(r"[^\s:/@!]+@[A-Za-z][A-Za-z0-9.\-_]+")


# -- logging in --------------------------------------------------------------------------------


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


# -- users -------------------------------------------------------------------------------------


def _user(call: Call) -> Document:
    user = call.pve.users.get(call.params["userid"])
    if user is None:
        raise failed(f"no such user ('{call.params['userid']}')")
    return user


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
        tokens = _tokens_of(call, user["userid"])
        row["tokens"] = [{"tokenid": token["tokenid"], **_token_shown(token)} for token in tokens]
    return row


@route("GET", "/access/users/{userid}", "", user_group("User.Modify", "Sys.Audit"))
def read_user(call: Call) -> dict[str, Any]:
    user = _user(call)
    tokens = {t["tokenid"]: _token_shown(t) for t in _tokens_of(call, user["userid"])}
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
    user = _user(call)
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
    name = _user(call)["userid"]
    if name == "root@pam":
        raise failed("delete user failed: user 'root@pam' cannot be removed")
    for token in _tokens_of(call, name):
        _forget(call, "token", f"{name}!{token['tokenid']}")
        call.pve.tokens.drop(f"{name}!{token['tokenid']}")
    _forget(call, "user", name)
    call.pve.users.drop(name)
    call.pve.rights.changed()


@route("PUT", "/access/password", "userid!:str password!:str confirmation-password:str")
def change_password(call: Call) -> None:
    if call.params["userid"] != call.user and not call.may("/access/groups", "User.Modify"):
        raise denied("/access/groups, User.Modify")
    user = _user(call)
    call.pve.users.put(user["userid"], {**user, "password": hash_password(call.params["password"])})


def _forget(call: Call, kind: str, name: str) -> None:
    for key, entry in call.pve.acl.items():
        if (entry["type"], entry["ugid"]) == (kind, name):
            call.pve.acl.drop(key)


# -- tokens ------------------------------------------------------------------------------------


def _tokens_of(call: Call, userid: str) -> list[Document]:
    return [token for key, token in call.pve.tokens.items() if key.split("!")[0] == userid]


def _token(call: Call) -> tuple[str, Document]:
    key = f"{call.params['userid']}!{call.params['tokenid']}"
    token = call.pve.tokens.get(key)
    if token is None:
        _user(call)
        raise failed(f"no such token '{call.params['tokenid']}' for user '{call.params['userid']}'")
    return key, token


def _token_shown(token: Document) -> dict[str, Any]:
    data: dict[str, Any] = {"privsep": token["privsep"], "expire": token.get("expire", 0)}
    return {**data, "comment": token["comment"]} if token.get("comment") else data


@route("GET", "/access/users/{userid}/token", "", OWN_TOKENS)
def list_tokens(call: Call) -> list[dict[str, Any]]:
    _user(call)
    own = _tokens_of(call, call.params["userid"])
    return [{"tokenid": token["tokenid"], **_token_shown(token)} for token in own]


@route("GET", "/access/users/{userid}/token/{tokenid}", "", OWN_TOKENS)
def read_token(call: Call) -> dict[str, Any]:
    return _token_shown(_token(call)[1])


@route(
    "POST",
    "/access/users/{userid}/token/{tokenid}",
    "comment:str expire:int:0.. privsep:bool",
    OWN_TOKENS,
)
def create_token(call: Call) -> dict[str, Any]:
    _user(call)
    key = f"{call.params['userid']}!{call.params['tokenid']}"
    if key in call.pve.tokens:
        raise failed("Token already exists.")
    value = str(uuid.uuid4())
    token = {
        "tokenid": call.params["tokenid"],
        "privsep": call.get("privsep", 1),
        "expire": call.get("expire", 0),
        "comment": call.get("comment", ""),
        "secret": token_secret(value),
    }
    call.pve.tokens.put(key, token)
    call.pve.rights.changed()
    info = {name: str(text) for name, text in _token_shown(token).items()}
    return {"full-tokenid": key, "info": info, "value": value}


@route(
    "PUT",
    "/access/users/{userid}/token/{tokenid}",
    "comment:str expire:int:0.. privsep:bool delete:str regenerate:bool",
    OWN_TOKENS,
)
def change_token(call: Call) -> dict[str, Any]:
    key, token = _token(call)
    given = {k: call.params[k] for k in ("comment", "expire", "privsep") if k in call.params}
    changed: Document = token | given
    for name in str(call.get("delete", "")).split(","):
        if name in {"comment", "expire"}:
            changed.pop(name, None)
    call.pve.tokens.put(key, changed)
    call.pve.rights.changed()
    return _token_shown(changed)


@route("DELETE", "/access/users/{userid}/token/{tokenid}", "", OWN_TOKENS)
def delete_token(call: Call) -> None:
    key, _ = _token(call)
    _forget(call, "token", key)
    call.pve.tokens.drop(key)
    call.pve.rights.changed()


# -- groups ------------------------------------------------------------------------------------


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
    _forget(call, "group", call.params["groupid"])
    call.pve.groups.drop(call.params["groupid"])
    call.pve.rights.changed()


# -- roles -------------------------------------------------------------------------------------


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


# -- access control lists ----------------------------------------------------------------------

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
    call.need(path, "Permissions.Modify")
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
        for kind, name in targets:
            _set_acl(call, path, role, kind, name)
    call.pve.rights.changed()


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

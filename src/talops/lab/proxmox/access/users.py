"""Login, realms and users."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from talops.lab.proxmox.access.login import hash_password
from talops.lab.proxmox.access.tokens import forget, need_user, tokens_of
from talops.lab.proxmox.access.tokens import shown as token_shown
from talops.lab.proxmox.call import ROOT
from talops.lab.proxmox.errors import denied, failed, prefixed
from talops.lab.proxmox.routing import route
from talops.lab.proxmox.schema.checks import user_name
from talops.lab.proxmox.schema.formats import split_list

if TYPE_CHECKING:
    from talops.lab.proxmox.call import Call
    from talops.lab.proxmox.store import Document


REALMS = {"pam": "Linux PAM standard authentication", "pve": "Proxmox VE authentication server"}
TEXTS = ("email", "firstname", "lastname", "comment", "keys")
# The privileges of a login, by area of the user interface.
CAPABILITIES = {
    "vms": r"VM\.|Permissions\.Modify",
    "access": r"(?:User|Group)\.|Permissions\.Modify",
    "storage": r"Datastore\.|Permissions\.Modify",
    "nodes": r"Sys\.|Permissions\.Modify",
    "sdn": r"SDN\.|Permissions\.Modify",
    "dc": r"Sys\.Audit|Sys\.Modify|SDN\.",
    "mapping": r"Mapping\.|Permissions\.Modify",
}
TOP = ("/", "/nodes", "/access/groups", "/vms", "/storage", "/sdn", "/mapping")


@route("GET", "/access/domains")
def domains(_: Call) -> list[dict[str, Any]]:
    return [{"realm": name, "type": name, "comment": text} for name, text in REALMS.items()]


# -- logging in ----


@route("POST", "/access/ticket")
def ticket(call: Call) -> dict[str, Any]:
    username = call.params["username"]
    if call.get("realm"):
        username = f"{username}@{call.params['realm']}"
    call.pve.login.password(username, call.params["password"])
    value, csrf = call.pve.login.ticket(username)
    answer = {"username": username, "ticket": value, "CSRFPreventionToken": csrf}
    if len(call.pve.nodes) > 1:
        answer["clustername"] = call.pve.name
    return {**answer, "cap": _capabilities(call, username)}


def _capabilities(call: Call, who: str) -> dict[str, dict[str, int]]:
    found: dict[str, dict[str, int]] = {area: {} for area in CAPABILITIES}
    for path in dict.fromkeys([*TOP, *(e["path"] for e in call.pve.acl.values())]):
        held = call.pve.rights.privileges(who, path)
        area = path.split("/")[1] or "dc"
        if area == "pool":
            found["vms"] |= {name: 1 for name in held if name.startswith("VM.")}
            found["storage"] |= {name: 1 for name in held if name.startswith("Datastore.")}
        elif area in found:
            found[area] |= {name: 1 for name in held if re.match(CAPABILITIES[area], name)}
    return found


@route("GET", "/access/permissions")
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
    fixed = {"/", "/access", "/access/groups", "/nodes", "/pool", "/sdn", "/storage", "/vms"}
    pools = call.pve.pools.values()
    members = {f"/vms/{vmid}" for pool in pools for vmid in pool["vms"]}
    members |= {f"/storage/{name}" for pool in pools for name in pool["storages"]}
    return sorted(fixed | members | {entry["path"] for entry in call.pve.acl.values()})


# -- users ----


def _shown(user: Document) -> dict[str, Any]:
    hidden = {"userid", "password"}
    data = {key: value for key, value in user.items() if key not in hidden}
    data["groups"] = split_list(str(user.get("groups", "")))
    return data


@route("GET", "/access/users")
def list_users(call: Call) -> list[dict[str, Any]]:
    may = call.may("/access/groups", "User.Modify", "Sys.Audit", any_of=True)
    mine = {
        name
        for name in call.pve.groups
        if call.may(f"/access/groups/{name}", "User.Modify", "Sys.Audit", any_of=True)
    }
    wanted = call.get("enabled")
    return [
        _listed(call, user)
        for _, user in sorted(call.pve.users.items())
        if (may or user["userid"] == call.user or mine & set(_shown(user)["groups"]))
        and wanted in {None, user.get("enable", 1)}
    ]


def _listed(call: Call, user: Document) -> dict[str, Any]:
    """Groups and tokens only on request; the groups are one string here."""
    row = {key: value for key, value in _shown(user).items() if key != "groups"}
    realm = user["userid"].rpartition("@")[2]
    row |= {"userid": user["userid"], **({"realm-type": realm} if realm in REALMS else {})}
    if call.get("full"):
        row["groups"] = user.get("groups", "")
        tokens = tokens_of(call, user["userid"])
        rows = [{"tokenid": token["tokenid"], **token_shown(token)} for token in tokens]
        row["tokens"] = rows or None
    return row


@route("GET", "/access/users/{userid}")
def read_user(call: Call) -> dict[str, Any]:
    user = need_user(call)
    tokens = {t["tokenid"]: token_shown(t) for t in tokens_of(call, user["userid"])}
    return {"email": "", **_shown(user), "tokens": tokens or None}


@route("POST", "/access/users")
def create_user(call: Call) -> None:
    name = call.params["userid"]
    with prefixed("create user failed"):
        if name in call.pve.users:
            raise failed(f"user '{name}' already exists")
        _need_groups(call)
    given = {key: value for key, value in call.params.items() if value not in ("", None)}
    user = {"enable": 1, "expire": 0, **given}
    if "groups" in given:
        user["groups"] = ",".join(split_list(given["groups"]))
    if "password" in user:
        user["password"] = hash_password(user["password"])
    call.pve.users.put(name, user)
    call.pve.rights.changed()


def _need_groups(call: Call) -> None:
    for group in split_list(str(call.get("groups", ""))):
        if group not in call.pve.groups:
            raise failed(f"no such group '{group}'")


@route("PUT", "/access/users/{userid}")
def change_user(call: Call) -> None:
    user_name(call.params["userid"])
    with prefixed("update user failed"):
        user = need_user(call)
        _need_groups(call)
    changes = {key: value for key, value in call.params.items() if key != "append"}
    if "groups" in changes:
        before = split_list(str(user.get("groups", ""))) if call.get("append") else []
        changes["groups"] = ",".join(dict.fromkeys([*before, *split_list(changes["groups"])]))
    kept = {key: value for key, value in {**user, **changes}.items() if value != ""}
    call.pve.users.put(user["userid"], kept)
    call.pve.rights.changed()


@route("DELETE", "/access/users/{userid}")
def delete_user(call: Call) -> None:
    """Removing a user that does not exist succeeds; root stays."""
    name = user_name(call.params["userid"])
    if name == ROOT:
        return
    for token in tokens_of(call, name):
        forget(call, "token", f"{name}!{token['tokenid']}")
        call.pve.tokens.drop(f"{name}!{token['tokenid']}")
    forget(call, "user", name)
    call.pve.users.drop(name)
    call.pve.rights.changed()


@route("PUT", "/access/password")
def change_password(call: Call) -> None:
    if call.params["userid"] == "root@pam" and not call.is_root:
        raise denied("")
    user = need_user(call)
    call.pve.users.put(user["userid"], {**user, "password": hash_password(call.params["password"])})

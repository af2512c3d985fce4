"""API tokens of users."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Any

from talops.lab.proxmox.errors import failed, invalid
from talops.lab.proxmox.hypervisor import token_secret
from talops.lab.proxmox.routing import route
from talops.lab.proxmox.schema.checks import user_name
from talops.lab.proxmox.schema.formats import split_list

if TYPE_CHECKING:
    from talops.lab.proxmox.call import Call
    from talops.lab.proxmox.store import Document


def need_user(call: Call) -> Document:
    name = user_name(call.params["userid"])
    user = call.pve.users.get(name)
    if user is None:
        raise failed(f"no such user ('{name}')")
    return user


def forget(call: Call, kind: str, name: str) -> None:
    for key, entry in call.pve.acl.items():
        if (entry["type"], entry["ugid"]) == (kind, name):
            call.pve.acl.drop(key)


def tokens_of(call: Call, userid: str) -> list[Document]:
    return [token for key, token in call.pve.tokens.items() if key.split("!")[0] == userid]


def _token(call: Call) -> tuple[str, Document]:
    key = f"{call.params['userid']}!{call.params['tokenid']}"
    token = call.pve.tokens.get(key)
    if token is None:
        need_user(call)
        raise failed(f"no such token '{call.params['tokenid']}' for user '{call.params['userid']}'")
    return key, token


def shown(token: Document) -> dict[str, Any]:
    data: dict[str, Any] = {"privsep": token["privsep"], "expire": token.get("expire", 0)}
    return {**data, "comment": token["comment"]} if token.get("comment") else data


@route("GET", "/access/users/{userid}/token")
def list_tokens(call: Call) -> list[dict[str, Any]]:
    need_user(call)
    own = tokens_of(call, call.params["userid"])
    return call.pve.shuffled([{"tokenid": token["tokenid"], **shown(token)} for token in own])


@route("GET", "/access/users/{userid}/token/{tokenid}")
def read_token(call: Call) -> dict[str, Any]:
    return shown(_token(call)[1])


@route("POST", "/access/users/{userid}/token/{tokenid}")
def create_token(call: Call) -> dict[str, Any]:
    need_user(call)
    key = f"{call.params['userid']}!{call.params['tokenid']}"
    if key in call.pve.tokens:
        raise invalid({"tokenid": "Token already exists."})
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
    info = {name: str(text) for name, text in shown(token).items()}
    if "expire" not in call.params:
        info.pop("expire")
    return {"full-tokenid": key, "info": info, "value": value}


@route("PUT", "/access/users/{userid}/token/{tokenid}")
def change_token(call: Call) -> dict[str, Any]:
    key, token = _token(call)
    given = {k: call.params[k] for k in ("comment", "expire", "privsep") if k in call.params}
    changed: Document = token | given
    for name in split_list(str(call.get("delete", ""))):
        if name != "comment":
            raise invalid({"delete": f"unknown option '{name}'"})
        changed.pop(name, None)
    value = str(uuid.uuid4()) if call.get("regenerate") else ""
    if value:
        changed = {**changed, "secret": token_secret(value)}
    call.pve.tokens.put(key, changed)
    call.pve.rights.changed()
    new = {"value": value, "full-tokenid": key} if value else {}
    return {**shown(changed), **new}


@route("DELETE", "/access/users/{userid}/token/{tokenid}")
def delete_token(call: Call) -> None:
    key, _ = _token(call)
    forget(call, "token", key)
    call.pve.tokens.drop(key)
    call.pve.rights.changed()

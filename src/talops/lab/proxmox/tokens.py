"""API tokens of users."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Any

from talops.lab.proxmox.checks import either, self_only, user_group
from talops.lab.proxmox.errors import failed, invalid
from talops.lab.proxmox.hypervisor import token_secret
from talops.lab.proxmox.routing import route

if TYPE_CHECKING:
    from talops.lab.proxmox.call import Call
    from talops.lab.proxmox.store import Document


OWN_TOKENS = either(self_only, user_group("User.Modify"))


def need_user(call: Call) -> Document:
    user = call.pve.users.get(call.params["userid"])
    if user is None:
        raise failed(f"no such user ('{call.params['userid']}')")
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


@route("GET", "/access/users/{userid}/token", "", OWN_TOKENS)
def list_tokens(call: Call) -> list[dict[str, Any]]:
    need_user(call)
    own = tokens_of(call, call.params["userid"])
    return [{"tokenid": token["tokenid"], **shown(token)} for token in own]


@route("GET", "/access/users/{userid}/token/{tokenid}", "", OWN_TOKENS)
def read_token(call: Call) -> dict[str, Any]:
    return shown(_token(call)[1])


@route(
    "POST",
    "/access/users/{userid}/token/{tokenid}",
    "comment:str expire:int:0.. privsep:bool",
    OWN_TOKENS,
)
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
    return shown(changed)


@route("DELETE", "/access/users/{userid}/token/{tokenid}", "", OWN_TOKENS)
def delete_token(call: Call) -> None:
    key, _ = _token(call)
    forget(call, "token", key)
    call.pve.tokens.drop(key)
    call.pve.rights.changed()

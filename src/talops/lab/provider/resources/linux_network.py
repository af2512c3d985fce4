"""proxmox_network_linux_bridge and proxmox_network_linux_vlan."""

from __future__ import annotations

import asyncio
from abc import abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar

from talops.lab.provider import tasks
from talops.lab.provider.api import ApiError
from talops.lab.provider.kinds import Call, Remark, Resource, refuse
from talops.lab.provider.schema import Attribute, Block
from talops.lab.provider.validation import at_least, matching
from talops.lab.provider.values import UNKNOWN

if TYPE_CHECKING:
    from talops.lab.provider.planning import Plan
    from talops.lab.provider.values import Values

_RELOAD = asyncio.Lock()
_COMMON = {
    "address": Attribute(),
    "address6": Attribute(),
    "autostart": Attribute("bool", computed=True, default=True),
    "comment": Attribute(),
    "gateway": Attribute(),
    "gateway6": Attribute(),
    "id": Attribute(readonly=True, keep=True),
    "mtu": Attribute("number"),
    "node_name": Attribute(required=True),
    "timeout_reload": Attribute("number", computed=True, default=100, check=at_least(5)),
}
# What can be taken away again, with its name in Proxmox.
_REMOVABLE = {
    "address": "cidr",
    "address6": "cidr6",
    "mtu": "mtu",
    "gateway": "gateway",
    "gateway6": "gateway6",
    "comment": "comments",
}


class _Interface(Resource):
    kind: ClassVar[str]

    @abstractmethod
    def own(self, planned: Values) -> dict[str, str]:
        """The parameters of this kind of interface only."""

    @abstractmethod
    def told(self, found: Values, state: Values, /) -> Values: ...

    def removed(self, prior: Values, planned: Values) -> list[str]:
        return [
            key
            for name, key in _REMOVABLE.items()
            if planned[name] is None and prior[name] is not None
        ]

    async def create(self, call: Call, planned: Values) -> Values:
        await call.api.call("POST", _path(planned), self._form(planned))
        identity = f"{planned['node_name']}:{planned['name']}"
        state = await self._found(call, {**planned, "id": identity})
        call.saved = state
        await self._reload(call, state)
        return state

    async def read(self, call: Call, state: Values) -> Values | None:
        for found in await call.api.get(_path(state)) or []:
            if found["iface"] == state["name"]:
                return {**state, **_common(found), **self.told(found, state)}
        return None

    async def update(self, call: Call, prior: Values, planned: Values) -> Values:
        form, gone = self._form(planned), self.removed(prior, planned)
        if gone:
            form["delete"] = ",".join(gone)
        await call.api.call("PUT", f"{_path(planned)}/{planned['name']}", form)
        state = await self._found(call, planned)
        await self._reload(call, state)
        return state

    async def delete(self, call: Call, prior: Values) -> None:
        try:
            await call.api.call("DELETE", f"{_path(prior)}/{prior['name']}")
        except ApiError as error:
            if "interface does not exist" not in error.reason:
                raise
            call.warnings.append(Remark(f"{prior['name']} is gone already"))
            return
        await self._reload(call, prior)

    async def adopt(self, call: Call, identity: str) -> Values:
        node, _, name = identity.partition(":")
        if not node or not name:
            refuse(f"expected NODE:INTERFACE to import, got {identity!r}")
        empty: Values = dict.fromkeys(self.block.attributes)
        known = {"id": identity, "node_name": node, "name": name, "timeout_reload": 100}
        return await self._found(call, {**empty, **known})

    async def _found(self, call: Call, state: Values) -> Values:
        found = await self.read(call, state)
        if found is None:
            refuse(f"interface {state['name']} is not on node {state['node_name']}")
        return found

    def _form(self, planned: Values) -> dict[str, str]:
        form = {"iface": planned["name"], "type": self.kind}
        form["autostart"] = "1" if planned["autostart"] else "0"
        form |= {k: str(planned[n]) for n, k in _REMOVABLE.items() if planned[n] is not None}
        return form | self.own(planned)

    async def _reload(self, call: Call, state: Values) -> None:
        """One at a time: a node refuses a second reload while the first one runs."""
        async with _RELOAD:
            limit = float(state["timeout_reload"])
            await tasks.run(call, "network reload", "PUT", _path(state), limit=limit)


class LinuxBridge(_Interface):
    name = "proxmox_network_linux_bridge"
    kind = "bridge"
    block = Block(
        {
            **_COMMON,
            "name": Attribute(
                required=True,
                force_new=True,
                check=matching(
                    r"[A-Za-z][A-Za-z0-9_]{0,9}",
                    "a letter and at most nine letters, digits and underscores",
                ),
            ),
            "ports": Attribute(["list", "string"]),
            "vids": Attribute(computed=True),
            "vlan_aware": Attribute("bool", computed=True),
        }
    )

    def validate(self, config: Values) -> list[str]:
        aware = config["vlan_aware"]
        if config["vids"] is not None and aware is not UNKNOWN and not aware:
            return ["vids requires vlan_aware = true"]
        return []

    def adjust(self, plan: Plan, prior: Values | None, config: Values) -> None:
        """A bridge that knows no VLANs has no list of them."""
        aware = plan.planned["vlan_aware"]
        if config["vids"] is not None or aware is UNKNOWN:
            return
        if not aware:
            plan.planned["vids"] = None
        elif prior is not None and prior["vids"] is not None:
            plan.planned["vids"] = prior["vids"]

    def own(self, planned: Values) -> dict[str, str]:
        ports = " ".join(sorted(p.strip() for p in planned["ports"] or [] if p.strip()))
        out = {"bridge_ports": ports} if ports else {}
        out |= {"bridge_vlan_aware": "1"} if planned["vlan_aware"] else {}
        return out | ({"bridge_vids": planned["vids"]} if planned["vids"] else {})

    def removed(self, prior: Values, planned: Values) -> list[str]:
        gone = super().removed(prior, planned)
        if planned["vids"] is None and prior["vids"] is not None:
            gone.append("bridge_vids")
        if prior["vlan_aware"] and not planned["vlan_aware"]:
            gone.append("bridge_vlan_aware")
        return gone

    def told(self, found: Values, state: Values) -> Values:
        comment = found.get("comments")
        return {
            "comment": state["comment"] if comment is None else str(comment).strip(),
            "ports": str(found.get("bridge_ports") or "").split() or state["ports"],
            "vids": found.get("bridge_vids"),
            "vlan_aware": bool(found.get("bridge_vlan_aware")),
        }


class LinuxVlan(_Interface):
    name = "proxmox_network_linux_vlan"
    kind = "vlan"
    block = Block(
        {
            **_COMMON,
            "interface": Attribute(computed=True),
            "name": Attribute(required=True, force_new=True),
            "vlan": Attribute("number", computed=True),
        }
    )

    def own(self, planned: Values) -> dict[str, str]:
        keys = {"interface": "vlan-raw-device", "vlan": "vlan-id"}
        return {k: str(planned[n]) for n, k in keys.items() if planned[n] is not None}

    def told(self, found: Values, _state: Values) -> Values:
        comment, raw = found.get("comments"), found.get("vlan-raw-device")
        return {
            "comment": None if comment is None else str(comment).strip(),
            "interface": None if raw is None else str(raw).strip(),
            "vlan": _number(found.get("vlan-id")),
        }


def _common(found: Values) -> Values:
    return {
        "address": found.get("cidr"),
        "address6": found.get("cidr6"),
        "autostart": bool(found.get("autostart")),
        "gateway": found.get("gateway"),
        "gateway6": found.get("gateway6"),
        "mtu": _number(found.get("mtu")),
    }


def _number(text: Any) -> int | None:
    return None if text is None else int(text)


def _path(state: Values) -> str:
    return f"/nodes/{state['node_name']}/network"

"""Configs that take a node's network away: what a trial run exists for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from talops.lab.talos.config.document import link_addresses, link_aliases

if TYPE_CHECKING:
    from collections.abc import Sequence

    from talops.lab.talos.config.document import Document, MachineConfig

_APID = 50000


def cut_by(
    config: MachineConfig, macs: tuple[str, ...], address: str, *, elsewhere: Sequence[str]
) -> str:
    """Why nothing reaches the node at this address, or an empty text. `elsewhere` are addresses
    that it has from its cloud-init drive or DHCP, whatever the config says.
    """
    if _links_down(config, macs):
        return "its link is down"
    if address not in {*elsewhere, *link_addresses(config, macs)}:
        return f"it does not have the address {address} any more"
    return "its firewall blocks port 50000" if _blocked(config) else ""


def _links_down(config: MachineConfig, macs: tuple[str, ...]) -> bool:
    """All of them: a node with another link can still be reached."""
    names = {f"eth{number}" for number, _ in enumerate(macs)}
    aliases = link_aliases(config, macs)
    down = {
        aliases.get(str(d.get("name")), d.get("name"))
        for d in config.of_kind("LinkConfig")
        if d.get("up") is False
    }
    found = [f"eth{n}" in down or mac in down for n, mac in enumerate(macs)]
    return bool(names) and all(found)


def _blocked(config: MachineConfig) -> bool:
    default = next(config.of_kind("NetworkDefaultActionConfig"), {})
    if default.get("ingress") != "block":
        return False
    return not any(_allows(rule) for rule in config.of_kind("NetworkRuleConfig"))


def _allows(rule: Document) -> bool:
    """A rule with at least one sender for the port of the Talos API."""
    selector = rule.get("portSelector") or {}
    if selector.get("protocol") != "tcp" or not rule.get("ingress"):
        return False
    return any(_holds(str(ports)) for ports in selector.get("ports") or ())


def _holds(ports: str) -> bool:
    first, _, last = ports.partition("-")
    return int(first) <= _APID <= int(last or first)

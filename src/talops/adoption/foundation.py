"""Which objects of layer 01 exist: their addresses in the state and their import IDs. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from talops.adoption.claims import Claim
from talops.proxmox.settings import Asked
from talops.render.layers import HYPERVISORS

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from talops.inventory.sections import Acl, Hypervisors
    from talops.proxmox.settings import Settings

STORAGES = {
    "dir": "directory",
    "lvm": "lvm",
    "lvmthin": "lvmthin",
    "zfspool": "zfspool",
    "nfs": "nfs",
}
Row = tuple[str, str, str, str | None]  # address, import ID, what, why it is missing


def asked_of(given: Hypervisors) -> Asked:
    return Asked(
        hosts=frozenset(node.name for node in given.nodes if node.bridges or node.vlans),
        storages=frozenset(storage.name for storage in given.storages),
        roles=bool(given.roles),
        users=frozenset([*(u.name for u in given.users), *(t.user for t in given.tokens)]),
        acls=bool(given.acls),
        mappings=bool(given.pci_mappings),
        pools=frozenset(pool.name for pool in given.pools),
    )


def claim_settings(
    given: Hypervisors, listed: Collection[str], there: Settings
) -> tuple[list[Claim], list[str]]:
    """What to adopt, and what does not exist or is of another kind."""
    claims, doubts = [], []
    for address, identity, what, lacking in _rows(given, there):
        if address in listed:
            continue
        if lacking is None:
            claims.append(Claim(HYPERVISORS, address, identity, what))
        else:
            doubts.append(f"{what} {lacking}")
    return claims, doubts


def _rows(given: Hypervisors, there: Settings) -> Iterator[Row]:
    yield from _networks(given, there)
    for storage in given.storages:
        found = there.storages.get(storage.name)
        lacking = None if found == storage.type else f"is of type {found}, not {storage.type}"
        address = f'proxmox_storage_{STORAGES[storage.type]}.this["{storage.name}"]'
        what = f"storage {storage.name}"
        yield address, storage.name, what, "does not exist" if found is None else lacking
    yield from _access(given, there)
    for mapping in given.pci_mappings:
        address = f'proxmox_hardware_mapping_pci.this["{mapping.name}"]'
        lacking = _lacking(mapping.name in there.mappings)
        yield address, mapping.name, f"PCI mapping {mapping.name}", lacking
    for pool in given.pools:
        address = f'proxmox_virtual_environment_pool.this["{pool.name}"]'
        yield address, pool.name, f"pool {pool.name}", _lacking(pool.name in there.pools)


def _networks(given: Hypervisors, there: Settings) -> Iterator[Row]:
    for node in given.nodes:
        bridges = [("bridge", bridge.name) for bridge in node.bridges]
        for kind, name in [*bridges, *(("vlan", vlan.name) for vlan in node.vlans)]:
            place = f"{node.name}/{name}"
            found = there.interfaces.get(place)
            lacking = None if found == kind else f"is of type {found}, not {kind}"
            address = f'proxmox_network_linux_{kind}.this["{place}"]'
            missing = "does not exist" if found is None else lacking
            yield address, f"{node.name}:{name}", f"{kind} {place}", missing


def _access(given: Hypervisors, there: Settings) -> Iterator[Row]:
    for role in given.roles:
        address = f'proxmox_virtual_environment_role.this["{role.name}"]'
        yield address, role.name, f"role {role.name}", _lacking(role.name in there.roles)
    for user in given.users:
        address = f'proxmox_virtual_environment_user.this["{user.name}"]'
        yield address, user.name, f"user {user.name}", _lacking(user.name in there.users)
    for token in given.tokens:
        name = f"{token.user}!{token.name}"
        lacking = _lacking(token.name in there.users.get(token.user, ()))
        yield f'proxmox_user_token.this["{name}"]', name, f"token {name}", lacking
    rules = {(rule.path, rule.role, rule.who) for rule in there.rules}
    for acl in given.acls:
        yield _acl(acl, _lacking((acl.path, acl.role, acl.user or acl.token) in rules))


def _acl(acl: Acl, lacking: str | None) -> Row:
    who = acl.user or acl.token
    key = f"{acl.path} {acl.role} {who}"
    return f'proxmox_acl.this["{key}"]', f"{acl.path}?{who}?{acl.role}", f"ACL {key}", lacking


def _lacking(found: bool) -> str | None:
    return None if found else "does not exist"

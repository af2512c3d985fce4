"""`host prepare`: read, decide, change. Correct settings stay unchanged."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from talops.errors import ConflictError, TalopsError
from talops.proxmox import accounts, mappings, names, nodes, pveum, storage
from talops.proxmox.accounts import Rule
from talops.proxmox.check.privileges import ROLE_PREFIX
from talops.proxmox.plugins import Plugin, plugins
from talops.proxmox.rights import Grant, grants, needs, roles, spoken

if TYPE_CHECKING:
    from collections.abc import Mapping

    from talops.proxmox.client import Client
    from talops.proxmox.facts import Device, PciMapping, Storage
    from talops.proxmox.needs import Need
    from talops.proxmox.wanted import Wanted
    from talops.redaction import Secret

USER = "talops@pve"
TOKEN = "talops"  # noqa: S105  (the token's name)
COMMENT = "talops: provisions Talos clusters"
GRAPHICS = "03"
TOKEN_ID, TOKEN_VALUE = "proxmox_api_token_id", "proxmox_api_token_secret"


@dataclass(frozen=True)
class Account:
    """A user with one token, and the names under which the encrypted file keeps them.

    `kept`: the value of the token is known and works. `replace`: create a new one anyway.
    """

    user: str
    token: str
    needs: tuple[Need, ...]
    comment: str
    id_name: str = TOKEN_ID
    value_name: str = TOKEN_VALUE
    kept: bool = False
    replace: bool = False

    @property
    def token_id(self) -> str:
        return f"{self.user}!{self.token}"


@dataclass(frozen=True)
class PrepareOptions:
    """What the user chose."""

    wanted: Wanted
    user: str = USER
    token: str = TOKEN
    gpus: Mapping[str, str] = field(default_factory=dict)  # mapping → PCI address
    new_token: bool = False
    # The value of the token is known, so an existing one can stay.
    kept_token: bool = False
    # The ids of other tokens whose values are known.
    kept_plugins: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        names.check_user(self.user)
        names.check_token(self.token)

    @property
    def token_id(self) -> str:
        return f"{self.user}!{self.token}"

    @property
    def accounts(self) -> tuple[Account, ...]:
        """Talops' own first, then one for each plugin in the cluster."""
        own = needs(self.wanted)
        first = Account(
            self.user,
            self.token,
            own,
            COMMENT,
            kept=self.kept_token and not self.new_token,
            replace=self.new_token,
        )
        return (first, *(self._account(plugin) for plugin in plugins(self.wanted)))

    def _account(self, plugin: Plugin) -> Account:
        """A value that is lost is replaced on request; one that works stays."""
        return Account(
            plugin.user,
            plugin.token,
            plugin.needs,
            f"{plugin.key.upper()} of the Kubernetes cluster {self.wanted.cluster}",
            plugin.id_name,
            plugin.value_name,
            kept=plugin.token_id in self.kept_plugins,
            replace=self.new_token,
        )


@dataclass(frozen=True)
class ExistingAccess:
    """`users`: the tokens of each user that exists."""

    roles: dict[str, frozenset[str]]
    users: dict[str, dict[str, bool]]
    rules: frozenset[Rule]
    storages: tuple[Storage, ...]
    mappings: tuple[PciMapping, ...]
    devices: tuple[Device, ...]


@dataclass(frozen=True)
class Step:
    """One change, with the command that does the same on the host."""

    kind: str  # role, user, token, grant, content, mapping
    name: str
    line: str
    privileges: frozenset[str] = frozenset()
    grant: Grant | None = None
    entries: tuple[str, ...] = ()
    new: bool = True
    account: Account | None = None

    @property
    def words(self) -> str:
        if self.kind == "grant" and self.grant:
            return f"grant {self.grant.role} on {self.grant.path}"
        if self.kind == "content":
            return f"allow {', '.join(self.entries)} on storage {self.name}"
        again = "replace" if self.kind == "token" else "change"
        return f"{'create' if self.new else again} {self.kind} {self.name}"


async def look(client: Client, asked: PrepareOptions) -> ExistingAccess:
    wanted = asked.wanted
    names.check_user(asked.user)  # the host rejects the lookup of an invalid name
    users = {each.user for each in asked.accounts}
    there = [user for user in sorted(users) if await accounts.has_user(client, user)]
    known = {host.name for host in await nodes.hosts(client) if host.online}
    hosts = [host for host in wanted.hosts if host in known]
    gpu_hosts = sorted({vm.host for vms in wanted.mappings.values() for vm in vms} & known)
    return ExistingAccess(
        roles=await accounts.roles(client),
        users={user: await accounts.tokens(client, user) for user in there},
        rules=await accounts.rules(client),
        storages=tuple([s for host in hosts for s in await storage.storages(client, host)]),
        mappings=await mappings.mappings(client),
        devices=tuple([d for host in gpu_hosts for d in await nodes.devices(client, host)]),
    )


def nothing() -> ExistingAccess:
    """A host that was not read: every command is printed."""
    return ExistingAccess({}, {}, rules=frozenset(), storages=(), mappings=(), devices=())


def plan(asked: PrepareOptions, found: ExistingAccess) -> list[Step]:
    """In the order in which they must be done; [] if nothing is missing."""
    steps = []
    for account in asked.accounts:
        steps += _roles(account, found)
        if account.user not in found.users:
            line = pveum.user_line(account.user, account.comment)
            steps.append(Step("user", account.user, line, account=account))
        steps += _grants(account, found)
    steps += _contents(asked, found)
    steps += _mappings(asked, found)
    # Last, so that no failing step can lose the value of a new token.
    return [*steps, *(step for each in asked.accounts for step in _token(each, found))]


def _roles(account: Account, found: ExistingAccess) -> list[Step]:
    steps = []
    for name, privileges in roles(account.needs, ROLE_PREFIX).items():
        meant = spoken(privileges, found.roles)
        there = found.roles.get(name)
        if there is None or not meant <= there:
            # Another cluster's prepare may have added more to it: that stays.
            total = meant | (there or frozenset())
            line = pveum.role_line(name, total) if there is None else pveum.more_line(name, meant)
            steps.append(Step("role", name, line, total, new=there is None))
    return steps


def _grants(account: Account, found: ExistingAccess) -> list[Step]:
    steps = []
    for given in grants(account.needs, ROLE_PREFIX):
        deep = Rule(given.path, given.role, account.user, propagate=True)
        shallow = Rule(given.path, given.role, account.user, propagate=False)
        if deep in found.rules or (not given.propagate and shallow in found.rules):
            continue
        line = pveum.acl_line(given, account.user)
        steps.append(Step("grant", given.path, line, grant=given, account=account))
    return steps


def _contents(asked: PrepareOptions, found: ExistingAccess) -> list[Step]:
    steps = []
    there = {each.name: each.content for each in found.storages}
    for name, kinds in asked.wanted.content_types().items():
        if name in asked.wanted.managed.storages or name not in there:
            continue
        if kinds - there[name]:
            total = there[name] | kinds
            line = pveum.content_line(name, total)
            steps.append(Step("content", name, line, entries=tuple(sorted(total)), new=False))
    return steps


def _mappings(asked: PrepareOptions, found: ExistingAccess) -> list[Step]:
    steps = []
    there = {mapping.name for mapping in found.mappings}
    for name, vms in asked.wanted.mappings.items():
        if name in asked.wanted.managed.mappings or name in there or not found.devices:
            continue
        hosts = sorted({vm.host for vm in vms})
        entries = tuple(mappings.entry(_device(asked, found, name, host)) for host in hosts)
        steps.append(Step("mapping", name, pveum.mapping_line(name, entries), entries=entries))
    return steps


def _device(asked: PrepareOptions, found: ExistingAccess, name: str, host: str) -> Device:
    """The address that was named, or the host's only graphics card."""
    here = [device for device in found.devices if device.host == host]
    cards = [device for device in here if device.class_.startswith(GRAPHICS)]
    address = asked.gpus.get(name)
    fitting = [d for d in here if d.path.startswith(address)] if address else cards
    if not fitting or (address is None and len(fitting) > 1):
        listed = ", ".join(f"{card.path} ({card.name})" for card in cards) or "none"
        raise TalopsError(
            f"cannot choose a device for {name} on {host}; graphics cards there: {listed}",
            where=host,
            hint=f"talops host prepare --gpu {name}={cards[0].path if cards else '0000:01:00.0'}",
        )
    return fitting[0]


def _token(account: Account, found: ExistingAccess) -> list[Step]:
    there = account.token in found.users.get(account.user, {})
    if there and account.kept:
        return []
    if there and not account.replace:
        raise ConflictError(
            f"token {account.token_id} exists, but its value is unknown: Proxmox shows it only "
            "once",
            hint="talops host prepare --new-token replaces it (what uses the old one stops "
            "working), or --token-name NAME creates another",
        )
    line = pveum.token_line(account.user, account.token, account.comment)
    return [Step("token", account.token_id, line, new=not there, account=account)]


async def do(client: Client, step: Step) -> Secret | None:
    """Apply one step; returns the value of a token that it created."""
    if step.kind == "role":
        await accounts.set_role(client, step.name, step.privileges, new=step.new)
    elif step.kind == "content":
        await storage.allow_content(client, step.name, step.entries)
    elif step.kind == "mapping":
        await mappings.create(client, step.name, step.entries)
    elif step.account:
        return await _for_account(client, step, step.account)
    return None


async def _for_account(client: Client, step: Step, account: Account) -> Secret | None:
    if step.kind == "user":
        await accounts.add_user(client, account.user, account.comment)
    elif step.kind == "grant" and step.grant:
        await accounts.grant(client, step.grant, account.user)
    elif step.kind == "token":
        if not step.new:
            await accounts.remove_token(client, account.user, account.token)
        return await accounts.add_token(client, account.user, account.token, account.comment)
    return None

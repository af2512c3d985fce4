"""Every certificate, token and key of a cluster: where it is, when it expires, who renews it."""

from __future__ import annotations

import asyncio
from datetime import datetime, timedelta
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from talops.app.access.bundled import YOU, bundled
from talops.app.access.model import Credential, Kind, in_order
from talops.checks.after.wire import APID, ETCD, KUBERNETES, expiry
from talops.errors import TalopsError
from talops.kube import kubeconfig_file
from talops.machineconfig.places import TALOSCONFIG
from talops.site.secrets_file import find_secrets
from talops.talos import talosconfig

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from talops.site.site import Site

MONTH = timedelta(days=30)
RENEW = "talops certificates renew"
_PORTS = {"Talos API": APID, "etcd": ETCD, "Kubernetes API": KUBERNETES}
_TALOS = "at half of its lifetime"
_PLACE = "infrastructure/secrets.sops.yaml"
# Values of the encrypted file that are credentials, and how each is replaced.
_VAULT = {
    "tfstate_password": ("password of the state server", "talops rotate state-password"),
    "state_encryption_passphrase": ("passphrase of the states", "talops state migrate"),
    "cluster_age_key": ("age key of the cluster", "talops secrets rotate --cluster"),
    "git_deploy_key": ("deploy key of Flux", "talops rotate deploy-key"),
    "truenas_api_key": ("API key of TrueNAS", "a new key in TrueNAS, then: talops secrets set"),
}


async def credentials(site: Site) -> list[Credential]:
    """In the order of expiry; what could not be read says why."""
    bundle = await site.secrets.require()
    stored = find_secrets(site.root)
    where = str(stored.path.relative_to(site.root)) if stored else "the secrets"
    served, token = await asyncio.gather(_served(site), _proxmox_token(site))
    return in_order([*bundled(bundle, where), *_files(site), *served, *_vault(site), *token])


def _files(site: Site) -> Iterator[Credential]:
    """The client certificates in this directory."""

    def kubeconfig() -> datetime | None:
        entry = kubeconfig_file.entry(site.kubeconfig, site.cluster.name)
        return entry.expires() if entry else None

    def talos() -> datetime | None:
        path = site.root / TALOSCONFIG
        if not path.exists():
            return None
        return talosconfig.credentials_of(talosconfig.pick(talosconfig.read(path))).expires

    yield from _file("kubeconfig", str(site.kubeconfig), kubeconfig)
    yield from _file("talosconfig", TALOSCONFIG, talos)


def _file(name: str, where: str, expires: Callable[[], datetime | None]) -> Iterator[Credential]:
    try:
        at, unread = expires(), ""
    except TalopsError as error:
        at, unread = None, error.what
    if at or unread:
        yield Credential(name, Kind.CLIENT, where, "talops", RENEW, at, MONTH, unread)


async def _served(site: Site) -> list[Credential]:
    """What each port shows to any client; nothing is sent."""
    places = [
        (f"{what} of {node.name}", str(node.address), port, "Talos", _TALOS)
        for node in site.cluster.nodes
        for what, port in _PORTS.items()
        if node.controller or port == APID
    ]
    for what, url in _urls(site):
        parts = urlsplit(url)
        if parts.scheme == "https" and parts.hostname:
            how = "on that machine"
            places.append((what, parts.hostname, parts.port or 443, YOU, how))
    return list(await asyncio.gather(*(_shown(*place) for place in places)))


def _urls(site: Site) -> Iterator[tuple[str, str]]:
    if site.cluster.proxmox:
        yield "Proxmox API", site.cluster.proxmox.api_url
    if url := getattr(site.cluster.state, "url", None):
        yield "state server", str(url)


async def _shown(name: str, host: str, port: int, renews: str, how: str) -> Credential:
    where = f"{host}:{port}"
    notice = MONTH if renews == YOU else timedelta()
    try:
        at = await expiry(host, port)
    except TalopsError as error:
        return Credential(name, Kind.SERVER, where, renews, how, unread=error.what)
    return Credential(name, Kind.SERVER, where, renews, how, at, notice)


def _vault(site: Site) -> Iterator[Credential]:
    for key, (name, how) in _VAULT.items():
        if key in site.credentials:
            yield Credential(name, Kind.KEY, _PLACE, YOU, how)
    for age in site.sops.keys.keys if site.sops.keys else ():
        name = f"age key {age.recipient[:12]}…"
        yield Credential(name, Kind.KEY, "age.key", YOU, "talops secrets rotate")


async def _proxmox_token(site: Site) -> list[Credential]:
    """Proxmox says when the token ends; 0 means never."""
    identity = site.credentials.get("proxmox_api_token_id")
    if identity is None or not site.cluster.proxmox:
        return []
    user, _, name = identity.reveal().partition("!")
    how = "talops rotate proxmox-token"
    try:
        end = await _token_end(site, user, name)
    except TalopsError as error:
        return [Credential("Proxmox token", Kind.TOKEN, _PLACE, YOU, how, unread=error.what)]
    return [Credential("Proxmox token", Kind.TOKEN, _PLACE, YOU, how, end, MONTH)]


async def _token_end(site: Site, user: str, name: str) -> datetime | None:
    from talops.proxmox import accounts
    from talops.proxmox.client import Client
    from talops.site.proxmox.access import access_of

    access = access_of(site)
    if access is None:
        raise TalopsError("Proxmox credentials are not set", hint="talops host prepare")
    async with Client(access) as proxmox:
        return await accounts.token_end(proxmox, user, name)

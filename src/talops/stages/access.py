"""Tofu for one layer of a site: its environment, its rules of conduct, and its look at Proxmox."""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING

from talops.files import PRIVATE, write_atomic
from talops.redaction import Secret
from talops.render.backend import backend_environment, provider_environment
from talops.render.layers import layers
from talops.tofu import attached
from talops.tofu.apply import Applier, Conduct
from talops.tofu.attached import Access
from talops.tofu.diary import Diary
from talops.tofu.engine import Engine

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from talops.events import Emit
    from talops.stages.site import Site
    from talops.tofu.apply import Healthy
    from talops.tofu.layers import Layer
    from talops.tofu.plan import Change
    from talops.tofu.policy import Policy

HOME = ".talops/infra"
# Variables of OpenTofu, its backends and the provider whose values must never be shown.
_SECRET = re.compile(
    r"(TF|AWS|PROXMOX_VE|PG|TALOPS)_.*(PASSWORD|TOKEN|SECRET|PASSPHRASE|ACCESS_KEY|TICKET)\w*",
    re.IGNORECASE,
)


def variables(site: Site, layer: Layer | None) -> dict[str, str]:
    """What tofu's process gets; where the user set a variable, that one stays."""
    found = provider_environment(site.cluster, site.credentials, site.root)
    ours = next((o for o in layers(site.cluster) if layer and o.name == layer.name), None)
    if ours:
        found |= backend_environment(site.cluster, ours, site.credentials)
    ours_alone = ("ADDRESS", "SSL_CERT_FILE")
    kept = {k: v for k, v in found.items() if k not in site.environment or k.endswith(ours_alone)}
    return {**site.environment, **kept}


def engine(site: Site, layer: Layer, emit: Emit) -> Engine:
    every = variables(site, layer)
    secret = {name: Secret(value) for name, value in every.items() if _SECRET.fullmatch(name)}
    plain = {name: value for name, value in every.items() if name not in secret}
    return Engine(site.engine, layer, environment=plain, credentials=secret, emit=emit)


async def ensure_init(site: Site, layer: Layer, running: Engine) -> None:
    """`init` once per set of files and addresses that it depends on; it takes seconds each time."""
    stamp = site.root / HOME / f"{layer.slug}.init"
    fingerprint = _init_fingerprint(site, layer)
    known = stamp.read_text(encoding="utf-8") if stamp.exists() else ""
    if known == fingerprint and (layer.path / ".terraform").is_dir():
        return
    await running.init(["-reconfigure"] if site.cluster.state.kind != "local" else [])
    write_atomic(stamp, fingerprint, mode=PRIVATE)


def _init_fingerprint(site: Site, layer: Layer) -> str:
    digest = hashlib.sha256(str(site.engine).encode())
    for name in ("backend.tf", "versions.tf", ".terraform.lock.hcl"):
        file = layer.path / name
        digest.update(file.read_bytes() if file.exists() else b"-")
    given = variables(site, layer)
    for name in ("TF_CLI_CONFIG_FILE", "TF_HTTP_ADDRESS", "AWS_ENDPOINT_URL_S3"):
        digest.update(given.get(name, "").encode())
    return digest.hexdigest() + "\n"


def applier(site: Site, layer: Layer, running: Engine, policy: Policy, healthy: Healthy) -> Applier:
    reached = proxmox_access(variables(site, layer))

    async def read_disks(changes: Sequence[Change]) -> Mapping[int, frozenset[str]] | None:
        return await attached.read_attached(reached, changes) if reached else None

    async def find_lost(changes: Sequence[Change]) -> Mapping[str, str]:
        return await attached.find_lost(reached, changes) if reached else {}

    diary = Diary(site.root / HOME / f"{layer.slug}.creating.json")
    return Applier(running, Conduct(policy, read_disks, healthy, find_lost), diary)


def saved_plan(site: Site, layer: Layer) -> Path:
    return (site.root / HOME / f"{layer.slug}.tfplan").absolute()


def proxmox_access(given: Mapping[str, str]) -> Access | None:
    """Proxmox as the provider would reach it; None if nothing says where it is."""
    endpoint = given.get("PROXMOX_VE_ENDPOINT")
    if not endpoint:
        return None
    token = given.get("PROXMOX_VE_API_TOKEN")
    user, password = given.get("PROXMOX_VE_USERNAME"), given.get("PROXMOX_VE_PASSWORD")
    return Access(
        endpoint,
        token=Secret(token) if token else None,
        ticket=(user, Secret(password)) if user and password else None,
        insecure=given.get("PROXMOX_VE_INSECURE", "").lower() in {"1", "true", "yes"},
        ca_file=given.get("SSL_CERT_FILE"),
    )

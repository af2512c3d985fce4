"""OpenTofu for one layer of a site: its environment, its policy, and its access to Proxmox."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import replace
from typing import TYPE_CHECKING

from talops.environment import for_engine
from talops.errors import TalopsError
from talops.events import Note
from talops.files import PRIVATE, write_atomic
from talops.redaction import Secret
from talops.render.backend import backend_environment, provider_environment
from talops.render.layers import layers, platform
from talops.render.tree import PROVIDER_VERSION
from talops.site.enrolment.record import EnrolmentRecord
from talops.site.proxmox import existing_vms
from talops.tofu import identity
from talops.tofu.apply import Applier
from talops.tofu.creation_record import CreationRecord
from talops.tofu.engine import Engine
from talops.tofu.plan import VM
from talops.tofu.policy import RefusedError
from talops.toolchain import provider
from talops.toolchain.events import ToolStarted
from talops.toolchain.install import Toolchain

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from talops.events import Emit, Event
    from talops.inventory.model import Cluster, State
    from talops.layer import Layer
    from talops.proxmox.client import Access, Password, Token
    from talops.site.site import Site
    from talops.tofu.apply_options import ApplyOptions
    from talops.tofu.plan import Change
    from talops.tofu.policy import Policy

HOME = ".talops/infra"
# Variables of OpenTofu, its backends and providers whose values must never be shown.
_SECRET = re.compile(
    r"\w*(PASSWORD|TOKEN|SECRET|PASSPHRASE|ACCESS_KEY|API_KEY|TICKET)\w*", re.IGNORECASE
)


def layer_variables(
    cluster: Cluster | None,
    layer: str,
    credentials: Mapping[str, Secret],
    root: Path,
    environment: Mapping[str, str],
) -> dict[str, str]:
    """The environment of OpenTofu; a variable that the user set takes precedence."""
    if cluster is None:
        return dict(environment)
    found = provider_environment(cluster, credentials, root)
    ours = next((each for each in layers(cluster) if each.name == layer), None)
    if ours:
        found |= backend_environment(cluster, ours, credentials)
        found |= _state_trust(cluster.state, root)
    inventory_wins = ("ADDRESS", "SSL_CERT_FILE", "CA_CERTIFICATE_PEM", "CA_BUNDLE")
    kept = {k: v for k, v in found.items() if k not in environment or k.endswith(inventory_wins)}
    return {**environment, **kept}


def _state_trust(state: State, root: Path) -> dict[str, str]:
    """The CA of the state server; the http backend takes its text, the S3 backend its file."""
    if state.ca_file is None:
        return {}
    file = (root / state.ca_file).resolve()
    if state.kind == "s3":
        return {"AWS_CA_BUNDLE": str(file)}
    try:
        return {"TF_HTTP_CLIENT_CA_CERTIFICATE_PEM": file.read_text(encoding="utf-8")}
    except (OSError, UnicodeDecodeError) as error:
        raise TalopsError(
            f"cannot read the state server's CA file: {error}",
            where=str(file),
            hint="put the certificate there, or correct state.ca_file in cluster.yaml",
        ) from error


def layer_engine(program: Path, layer: Layer, every: Mapping[str, str], emit: Emit) -> Engine:
    """Secret variables are passed separately, so that they are masked in all output."""
    needed = for_engine(every)
    secret = {name: Secret(value) for name, value in needed.items() if _SECRET.fullmatch(name)}
    plain = {name: value for name, value in needed.items() if name not in secret}
    return Engine(program, layer, environment=plain, credentials=secret, emit=emit)


def variables(site: Site, layer: Layer) -> dict[str, str]:
    found = layer_variables(site.cluster, layer.name, site.credentials, site.root, site.environment)
    return fenced(found, site.fence.token)


def fenced(variables: dict[str, str], token: str) -> dict[str, str]:
    """The state server refuses writes of a run that lost its lock, also of an OpenTofu that goes on
    alone.
    """
    if not token or "TF_HTTP_ADDRESS" not in variables:
        return variables
    addresses = ("TF_HTTP_ADDRESS", "TF_HTTP_LOCK_ADDRESS")
    return variables | {
        name: f"{variables[name]}?run={token}"
        for name in addresses
        if name in variables and "?" not in variables[name]
    }


def engine(site: Site, layer: Layer, emit: Emit) -> Engine:
    return layer_engine(site.engine, layer, variables(site, layer), emit)


async def ensure_init(root: Path, running: Engine, every: Mapping[str, str]) -> None:
    """Run `init` only if its files or addresses changed; it takes seconds each time."""
    if is_initialised(root, running, every):
        return
    remote = "TF_HTTP_ADDRESS" in every or "AWS_ENDPOINT_URL_S3" in every
    await init(root, running, every, ["-reconfigure"] if remote else [])
    write_atomic(_stamp(root, running), _init_fingerprint(running, every), mode=PRIVATE)


def is_initialised(root: Path, running: Engine, every: Mapping[str, str]) -> bool:
    """Whether the last `init` was made with these files and addresses, and its result exists."""
    stamp = _stamp(root, running)
    known = stamp.read_text(encoding="utf-8") if stamp.exists() else ""
    # `init` stores the backend there; without this file every other command fails.
    remembered = running.layer.path / ".terraform" / "terraform.tfstate"
    done = known == _init_fingerprint(running, every) and remembered.exists()
    return done and not provider.lost(running.layer.path)


def _stamp(root: Path, running: Engine) -> Path:
    return root / HOME / f"{running.layer.slug}.init"


async def init(
    root: Path, running: Engine, every: Mapping[str, str], extra: Sequence[str] = ()
) -> None:
    """Run `init` with the provider from the source that toolchain/provider.py selects."""

    def emit(event: Event) -> None:
        if isinstance(event, ToolStarted) and event.step == "build":
            what = f"no registry is reachable, so {event.tool} {event.version} is built from source"
            running.emit(Note(f"{what}: this takes a few minutes"))

    environment = {name: text for name, text in every.items() if not _SECRET.fullmatch(name)}
    layer = running.layer.path
    settings = await provider.settings(
        Toolchain(environment, emit=emit), layer, running.program, root / HOME
    )
    # The layers pin one exact version: nothing else could be upgraded.
    upgrade = ["-upgrade"] if provider.outdated(layer, PROVIDER_VERSION) else []
    await running.init([*upgrade, *extra], settings=settings)


def _init_fingerprint(running: Engine, given: Mapping[str, str]) -> str:
    digest = hashlib.sha256(str(running.program).encode())
    for name in ("backend.tf", "versions.tf", ".terraform.lock.hcl"):
        file = running.layer.path / name
        digest.update(file.read_bytes() if file.exists() else b"-")
    for name in (provider.SETTINGS, provider.MIRROR, "TF_HTTP_ADDRESS", "AWS_ENDPOINT_URL_S3"):
        # Without the token of a run, which changes each time.
        digest.update(given.get(name, "").partition("?run=")[0].encode())
    return digest.hexdigest() + "\n"


def applier(site: Site, layer: Layer, running: Engine, options: ApplyOptions) -> Applier:
    options = replace(options, fence=site.fence.check)
    return layer_applier(site.root, running, variables(site, layer), options, site.cluster)


def layer_applier(
    root: Path,
    running: Engine,
    every: Mapping[str, str],
    options: ApplyOptions,
    cluster: Cluster | None = None,
) -> Applier:
    """An applier that also reads the real VMs: foreign disks, and VMs missing from the state.

    Every way to apply a plan uses it, so it also knows the protected nodes.
    """
    reached = proxmox_access(every)
    protected = {node.name for node in cluster.nodes if node.protected} if cluster else set()
    protected |= options.policy.protected
    options = replace(options, policy=replace(options.policy, protected=frozenset(protected)))

    async def read_disks(changes: Sequence[Change]) -> Mapping[int, frozenset[str]] | None:
        return await existing_vms.read_attached(reached, changes) if reached else None

    async def find_lost(changes: Sequence[Change]) -> Mapping[str, str]:
        return await existing_vms.find_lost(reached, changes) if reached else {}

    record = EnrolmentRecord(root)
    ours = cluster is not None and running.layer.name == platform(cluster).name
    # As it was before this apply: a second attempt compares with the same.
    uuids = record.uuids() if ours else {}

    def forget(changes: Sequence[Change]) -> None:
        """Whatever is created now, or replaces what is destroyed now, is another machine."""
        if ours:
            record.forget({change.node for change in changes if change.type == VM})

    async def occupied(changes: Sequence[Change]) -> Mapping[str, str]:
        taken = await existing_vms.occupied(reached, changes) if reached else {}
        if not taken:
            forget(changes)
        return taken

    async def identify(changes: Sequence[Change]) -> None:
        if reached and any(change.type == VM for change in changes):
            await _identify(running, reached, options.policy, cluster, changes, uuids)
        forget(changes)

    options = replace(
        options,
        read_disks=read_disks,
        find_lost=find_lost,
        occupied=occupied,
        identify=identify,
    )
    return Applier(running, options, _creation_record(root, running.layer))


async def _identify(
    running: Engine,
    reached: Access,
    policy: Policy,
    cluster: Cluster | None,
    changes: Sequence[Change],
    uuids: Mapping[str, str],
) -> None:
    """Refuse to destroy a VM that is not the one recorded in the state at its creation."""
    state = json.loads(await running.state_pull() or "{}")
    ids = {change.vm_id for change in changes if change.vm_id is not None}
    configs = await existing_vms.read_configs(reached, ids)
    ours = cluster is not None and running.layer.name == platform(cluster).name
    wrong = identity.problems(
        changes,
        identity.recorded(state),
        configs,
        tag=cluster.name if cluster and ours else "",
        uuids=uuids,
    )
    named = policy.allow_destroy if policy.everything else frozenset()
    left = {name: reasons for name, reasons in wrong.items() if name not in named}
    if left:
        lines = [f"{name}: {'; '.join(reasons)}" for name, reasons in left.items()]
        raise RefusedError(
            "refused to destroy VMs that are not as the state recorded them; nothing was changed "
            "by this step:\n  " + "\n  ".join(lines),
            where=running.layer.name,
            hint="compare them in Proxmox: give a VM of this cluster its name, tag and MAC back, "
            "and detach disks of others"
            + ("; or: --allow-destroy NAME" if policy.everything else ""),
        )


def _creation_record(root: Path, layer: Layer) -> CreationRecord:
    return CreationRecord(root / HOME / f"{layer.slug}.creating.json")


def begun_vms(root: Path, cluster: Cluster) -> frozenset[str]:
    """Names of the VMs that an interrupted run was creating."""
    records = (_creation_record(root, layer) for layer in layers(cluster))
    return frozenset(name for record in records for name in record.names())


def saved_plan(layer: Layer) -> Path:
    return (layer.root / HOME / f"{layer.slug}.tfplan").absolute()


def proxmox_access(given: Mapping[str, str]) -> Access | None:
    """Proxmox as the provider reaches it; None if no endpoint is set."""
    from talops.proxmox.client import Access

    endpoint = given.get("PROXMOX_VE_ENDPOINT")
    if not endpoint:
        return None
    return Access(
        endpoint,
        _login(given),
        insecure=given.get("PROXMOX_VE_INSECURE", "").lower() in {"1", "true", "yes"},
        ca_file=given.get("SSL_CERT_FILE"),
    )


def _login(given: Mapping[str, str]) -> Token | Password | None:
    from talops.proxmox.client import Password, Token

    token = given.get("PROXMOX_VE_API_TOKEN")
    if token:
        name, _, value = token.partition("=")
        return Token(name, Secret(value))
    user, password = given.get("PROXMOX_VE_USERNAME"), given.get("PROXMOX_VE_PASSWORD")
    return Password(user, Secret(password)) if user and password else None


def expected_outputs(cluster: Cluster) -> dict[str, object]:
    """The outputs of a platform layer, computed from the inventory alone."""
    nodes = cluster.nodes
    return {
        "talos_cluster_name": cluster.name,
        "talos_cluster_endpoint": cluster.endpoint,
        "talos_node_ips": {node.name: str(node.address) for node in nodes},
        "talos_mac_addresses": {node.name: node.mac for node in nodes},
        "talos_control_plane_ips": [str(node.address) for node in cluster.control_planes],
        "talos_worker_ips": [str(node.address) for node in cluster.workers],
    }

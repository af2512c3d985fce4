"""Open a site: read its inventory, find its keys and programs, decrypt its credentials."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from talops.errors import InventoryError, TalopsError
from talops.site.site import ClosedSite

if TYPE_CHECKING:
    from collections.abc import Mapping

    from talops.events import Emit
    from talops.inventory.model import Cluster
    from talops.problems import FileProblem
    from talops.redaction import Secret
    from talops.secrets.sops import Sops
    from talops.site.site import Site

KUBECONFIG = "kubeconfig"


class WrongInventoryError(InventoryError):
    """All that is wrong, for a face that shows it."""

    def __init__(self, problems: list[FileProblem]) -> None:
        count = "1 problem" if len(problems) == 1 else f"{len(problems)} problems"
        super().__init__(f"the inventory has {count}", hint="talops check")
        self.problems = problems


@dataclass(frozen=True)
class Keys:
    """The keys of a directory and the program that uses them; there may be no inventory yet."""

    sops: Sops
    file: Path
    # The key comes from the environment: there is no file to change.
    in_environment: bool


def check_directory(root: Path) -> None:
    """Refuse a repository that could make talops act outside of it."""
    from talops.site.checkout import refuse_foreign

    refuse_foreign(root)


def read_inventory(directory: Path) -> Cluster:
    from talops.inventory.load import load
    from talops.inventory.problems import errors

    loaded = load(directory)
    if loaded.cluster is None:
        raise WrongInventoryError(errors(list(loaded.problems)))
    return loaded.cluster


def inventory_if_any(root: Path) -> Cluster | None:
    """Layers can also be used without an inventory."""
    from talops.inventory.load import CLUSTER_FILE, load

    return load(root).require() if (root / CLUSTER_FILE).exists() else None


def flux_folder_of(root: Path) -> str:
    """The folder that the key of the cluster opens; an inventory may name another one."""
    from talops.inventory.load import load
    from talops.secrets.cluster_key import FOLDER, flux_folder

    cluster = load(root).cluster
    return flux_folder(cluster.repository.path) if cluster and cluster.repository else FOLDER


def closed_site(directory: Path, environment: Mapping[str, str]) -> ClosedSite:
    """What the inventory alone says; no program is started."""
    root = directory.resolve()
    check_directory(root)
    return ClosedSite(read_inventory(root), root, environment, {})


async def open_keys(root: Path, environment: Mapping[str, str], emit: Emit) -> Keys:
    """Sops is installed if it is missing; `emit` receives the progress."""
    from talops.redaction import Secret
    from talops.secrets.init import KEY_FILE, find_keys
    from talops.secrets.sops import Sops
    from talops.toolchain.install import Toolchain

    named = environment.get("SOPS_AGE_KEY_FILE")
    key_file = Path(named) if named else root / KEY_FILE
    text = environment.get("SOPS_AGE_KEY")
    keys = find_keys(key_file, Secret(text) if text else None)
    found = await Toolchain(environment, emit=emit).ensure("sops")
    return Keys(Sops(found.path, root, keys), key_file, bool(text))


async def open_site(closed: ClosedSite, emit: Emit, nodes: re.Pattern[str] | None = None) -> Site:
    """Opened for one command: what was decrypted is not read again."""
    from talops.files import sweep
    from talops.machineconfig.places import TALOSCONFIG
    from talops.secrets.vault import Vault
    from talops.site.site import Limits, Site

    root = closed.root
    _require_match(closed.cluster, nodes)
    kubeconfig = kubeconfig_of(closed)
    for file in (kubeconfig, root / TALOSCONFIG):
        sweep(file)
    keys = await open_keys(root, closed.environment, emit)
    return Site(
        cluster=closed.cluster,
        root=root,
        environment=closed.environment,
        sops=keys.sops,
        engine=await find_engine(root, closed.environment, emit, closed.cluster),
        credentials={**await Vault.of(keys.sops).read(), **closed.cluster.credentials},
        kubeconfig=kubeconfig,
        limits=Limits.of(closed.cluster.timeouts),
        nodes=nodes or re.compile(""),
    )


def _require_match(cluster: Cluster, nodes: re.Pattern[str] | None) -> None:
    """A mistyped name must not look like a cluster without changes."""
    if nodes and not any(nodes.search(name) for name in cluster.node_names):
        raise TalopsError(
            f"--nodes {nodes.pattern} matches none of the nodes",
            where="nodes.yaml",
            hint=f"existing nodes: {', '.join(cluster.node_names)}",
        )


async def with_credentials(closed: ClosedSite, emit: Emit) -> ClosedSite:
    """For what needs no engine; without an encrypted file, no key is needed either."""
    kept = await read_vault(closed.root, closed.environment, emit)
    return replace(closed, credentials={**kept, **closed.cluster.credentials})


async def read_vault(
    root: Path, environment: Mapping[str, str], emit: Emit
) -> Mapping[str, Secret]:
    from talops.secrets.vault import FILE, Vault

    if not (root / FILE).exists():
        return {}
    keys = await open_keys(root, environment, emit)
    return await Vault.of(keys.sops).read()


async def find_engine(
    root: Path,
    environment: Mapping[str, str],
    emit: Emit,
    cluster: Cluster | None = None,
    program: str | None = None,
) -> Path:
    """OpenTofu or Terraform, installed if it is missing; `program` is the requested one."""
    from talops.site.state.passphrase import states_are_encrypted
    from talops.toolchain.engine import ensure_engine
    from talops.toolchain.install import Toolchain

    encrypted = cluster is not None and states_are_encrypted(cluster, root)
    chain = Toolchain(environment, emit=emit)
    return (await ensure_engine(chain, program, encrypted=encrypted)).path


def kubeconfig_of(site: ClosedSite) -> Path:
    named = site.environment.get("KUBECONFIG", "").split(os.pathsep)[0]
    return Path(named) if named else site.root / KUBECONFIG

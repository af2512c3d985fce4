"""Cluster → every generated file, by path."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from talops.render.backend import backend_block
from talops.render.hcl import assignments
from talops.render.layers import MODULE, hypervisors, layers
from talops.render.values import (
    hypervisor_values,
    legacy_values,
    platform_values,
    reads_hypervisors,
)

if TYPE_CHECKING:
    from talops.inventory.model import Cluster
    from talops.layer import Layer

# renovate: datasource=terraform-provider depName=bpg/proxmox
PROVIDER_VERSION = "0.112.0"

# Names of the `infra:*` entries: the command, and the text in the list.
TASKS = {
    "configure": ("configure", "Render the OpenTofu files from cluster.yaml and nodes.yaml"),
    "init": ("infra init", "Initialise the layers"),
    "plan": ("infra plan", "Show what would change"),
    "apply": ("infra apply", "Apply the saved plan, and only that"),
    "apply-auto": ("infra apply-auto", "Plan and apply in one step"),
    "destroy": ("infra destroy", "Destroy the resources of a layer"),
    "output": ("infra output", "Show the outputs"),
    "state-list": ("infra state-list", "List the resources in the state"),
    "force-unlock": ("infra force-unlock", "Release a stale state lock"),
    "validate": ("infra validate", "Validate the rendered files"),
    "fmt": ("infra fmt", "Format OpenTofu files"),
    "fmt-check": ("infra fmt-check", "Check the format of OpenTofu files"),
    "secrets-edit": ("infra secrets-edit", "Edit the encrypted credentials"),
}
_NO_LAYER = {"configure", "secrets-edit"}


@cache
def _templates() -> Environment:
    return Environment(
        loader=PackageLoader("talops.render"),
        undefined=StrictUndefined,
        autoescape=False,  # noqa: S701  (HCL, not HTML; values go through hcl.literal)
        trim_blocks=True,
        lstrip_blocks=False,
        keep_trailing_newline=True,
    )


def _fill(name: str, **values: Any) -> str:
    return _templates().get_template(f"{name}.j2").render(values).rstrip("\n") + "\n"


def render(cluster: Cluster, *, encrypted: bool = False) -> dict[str, str]:
    """Path → text below its header. `encrypted`: a state passphrase is available."""
    found = layers(cluster)
    if not found:
        return {}
    files = {f"{MODULE}/{name}": _fill(f"module/{name}") for name in ("variables.tf", "main.tf")}
    files[f"{MODULE}/outputs.tf"] = _fill("module/outputs.tf")
    files[f"{MODULE}/versions.tf"] = _fill("versions.tf", provider_version=PROVIDER_VERSION)
    for layer in found:
        files |= _layer(cluster, layer, encrypted=encrypted)
    passes = TASKS.keys() - _NO_LAYER
    for name in ("Taskfile.yaml", "justfile"):
        files[name] = _fill(name, tasks=TASKS, passes=passes)
    return dict(sorted(files.items()))


def _layer(cluster: Cluster, layer: Layer, *, encrypted: bool) -> dict[str, str]:
    folder = {"hypervisors": "hypervisors", "platforms": "platform", "legacy": "legacy"}[layer.kind]
    context = {
        "encrypted": encrypted,
        "reads_hypervisors": layer.kind == "platforms" and reads_hypervisors(cluster),
        "http": cluster.state.kind == "http",
        "state_kind": cluster.state.kind,
        "remote_config": _remote_config(cluster),
    }
    texts = {
        "backend.tf": _fill(
            "backend.tf", backend=backend_block(cluster, layer), encrypted=encrypted
        ),
        "versions.tf": _fill("versions.tf", provider_version=PROVIDER_VERSION),
        "providers.tf": _fill("providers.tf"),
        "terraform.tfvars": assignments(_values(cluster, layer)) + "\n",
    }
    for name in ("variables.tf", "main.tf", "outputs.tf"):
        texts[name] = _fill(f"{folder}/{name}", **context)
    return {f"{layer.directory}/{name}": text for name, text in texts.items()}


def _values(cluster: Cluster, layer: Layer) -> dict[str, Any]:
    assert cluster.proxmox
    if layer.kind == "hypervisors":
        return hypervisor_values(cluster)
    if layer.kind == "platforms":
        return platform_values(cluster, cluster.proxmox)
    vm = next(vm for vm in cluster.legacy if layer.name == f"03-legacy/{vm.name}")
    return legacy_values(cluster, vm)


def _remote_config(cluster: Cluster) -> str:
    """How layer 02 reads the state of layer 01: the same backend, another key."""
    if cluster.state.kind == "http":
        return "    address = var.hypervisors_state_address"
    if cluster.state.kind == "local":
        return '    path = "../../01-hypervisors/terraform.tfstate"'
    block = backend_block(cluster, hypervisors(cluster))
    return "\n".join(block.splitlines()[1:-1])

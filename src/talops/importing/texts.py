"""cluster.yaml and nodes.yaml as text, with comments that say what a part is for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from talops.machineconfig import yamltext

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from talops.importing.patches import Patches, PatchFile

# Heading → keys, in the order in which they are written.
_SECTIONS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("", ("cluster_name",)),
    ("Versions that the nodes run.", ("talos_version", "kubernetes_version", "talos_contract")),
    (
        "The network of the nodes.",
        (
            *("node_cidr", "node_default_gateway", "node_dns_servers", "node_ntp_servers"),
            *("node_vlan_tag", "proxmox_vlan_mode"),
        ),
    ),
    ("The Kubernetes API.", ("cluster_api_addr", "cluster_api_tls_sans")),
    (
        "Kubernetes.",
        (
            *("cluster_pod_cidr", "cluster_svc_cidr", "allow_scheduling_on_control_planes"),
            *("cni", "registry_mirrors"),
        ),
    ),
    (
        "The Git repository that Flux syncs from.",
        ("repository_name", "repository_branch", "repository_visibility", "gitops"),
    ),
    ("Images of Talos.", ("image_factory_url", "image_factory_ca_file", "extensions")),
    (
        "Proxmox. Credentials are stored with: talops secrets set",
        (
            *("proxmox_api_url", "proxmox_node", "proxmox_insecure", "proxmox_ca_file"),
            *("proxmox_iso_storage", "proxmox_disk_storage", "boot", "boot_network"),
            *("template_name", "template_vm_id", "pool", "proxmox_vm_defaults"),
            *("proxmox_vm_controller_defaults", "proxmox_vm_worker_defaults"),
            "proxmox_vm_advanced",
        ),
    ),
)
_OF_PATCHES = "Settings without a key of their own, exactly as the nodes have them."
RENOVATE = {
    "talos_version": "# renovate: datasource=github-releases depName=siderolabs/talos",
    "kubernetes_version": "# renovate: datasource=github-releases depName=kubernetes/kubernetes",
}


def cluster_text(source: str, keys: Mapping[str, Any], patches: Patches | None = None) -> str:
    left = dict(keys)
    parts = [
        f"""\
# yaml-language-server: $schema=.schema/cluster.schema.json
# Imported from {source}. Check it with `talops check`; all keys: talops schema cluster
"""
    ]
    for heading, names in _SECTIONS:
        given = {name: left.pop(name) for name in names if name in left}
        parts += _section(heading, given)
    parts += _section("Other settings.", left)
    if patches:
        lists = {
            "patches": patches.everyone,
            "controller_patches": patches.controllers,
            "worker_patches": patches.workers,
        }
        named = {name: _paths(files) for name, files in lists.items() if files}
        parts += _section(_OF_PATCHES, named)
    return "\n".join(parts)


def _section(heading: str, given: Mapping[str, Any]) -> list[str]:
    if not given:
        return []
    lines = [f"# {heading}\n"] if heading else []
    for key, value in given.items():
        if comment := RENOVATE.get(key):
            lines.append(f"{comment}\n")
        lines.append(yamltext.dump({key: value}))
    return ["".join(lines)]


def nodes_text(
    source: str, nodes: Sequence[Mapping[str, Any]], patches: Patches | None = None
) -> str:
    own = patches.nodes if patches else {}
    entries = [
        {**node, **({"patches": _paths(own[node["name"]])} if node["name"] in own else {})}
        for node in nodes
    ]
    return (
        "# yaml-language-server: $schema=.schema/nodes.schema.json\n"
        f"# Imported from {source}. All keys: talops schema nodes\n"
        + yamltext.dump({"nodes": entries})
    )


def _paths(files: Iterable[PatchFile]) -> list[str]:
    return [file.path for file in files]

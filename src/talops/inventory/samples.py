"""The files that `talops init` writes: valid, with comments for optional keys."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from talops.visible import visible

if TYPE_CHECKING:
    from collections.abc import Iterator
    from ipaddress import IPv4Network

GITIGNORE = """\
# Secrets and files that can be recreated; commit the inventory and the rendered files.
age.key
*.agekey
.talops/
talos/clusterconfig/
talos/talsecret.yaml
kubeconfig
talosconfig
.terraform/
*.tfstate
*.tfstate.*
*.tfplan
crash.log
"""


@dataclass(frozen=True)
class Choice:
    """A proposed value, and why."""

    value: str
    reason: str


@dataclass(frozen=True)
class Placement:
    """One node: its number, VMID, host if it is not `proxmox_node`, and commented lines."""

    number: int
    vm_id: int
    host: str | None = None
    extras: tuple[str, ...] = ()


@dataclass(frozen=True)
class Proposal:
    """What a Proxmox host has for a new cluster."""

    url: Choice
    insecure: bool
    ca_file: str | None
    node: Choice
    iso_storage: Choice
    disk_storage: Choice
    bridge: Choice
    network: str
    gateway: Choice | None
    cores: Choice
    controller_memory: Choice
    worker_memory: Choice
    disk: Choice
    placements: tuple[Placement, ...]
    vm_ids: str
    block: int = 0  # added to the address of each node and to the virtual one
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Answers:
    name: str
    cidr: IPv4Network
    control_planes: int
    workers: int
    talos_version: str
    kubernetes_version: str
    proxmox_url: str | None
    proxmox_node: str | None
    proposal: Proposal | None = None

    @property
    def vip(self) -> str | None:
        block = self.proposal.block if self.proposal else 0
        return str(self.cidr.network_address + block + 10) if self.control_planes > 1 else None


def cluster_text(answers: Answers) -> str:
    vip = f"cluster_api_addr: {answers.vip}" if answers.vip else "# cluster_api_addr: 10.0.0.10"
    proxmox = _proxmox_text(answers) if answers.proxmox_url else _METAL
    gateway = f"# node_default_gateway: {answers.cidr.network_address + 1}"
    why = "The default gateway is its first host."
    if proposal := answers.proposal:
        proxmox, why = _proposed_text(proposal), f"Here: {visible(proposal.network)}."
        gateway = _entry("node_default_gateway", proposal.gateway) or gateway
    return f"""\
# yaml-language-server: $schema=.schema/cluster.schema.json
# The cluster. Check it with `talops check`; all keys: `talops schema cluster`.
cluster_name: {answers.name}

# https://github.com/siderolabs/talos/releases, and a Kubernetes version that it supports
talos_version: {answers.talos_version}
kubernetes_version: {answers.kubernetes_version}

# The network of the nodes. {why}
node_cidr: {answers.cidr}
{gateway}
# node_dns_servers: [1.1.1.1, 1.0.0.1]
# node_ntp_servers: [162.159.200.1, 162.159.200.123]
# node_vlan_tag: 20
# proxmox_vlan_mode: true     # Proxmox tags the VLAN; false: Talos creates the VLAN link

# The shared address of the Kubernetes API; required with multiple control planes.
{vip}
# cluster_api_tls_sans: [k8s.example.com]
# cluster_pod_cidr: 10.42.0.0/16
# cluster_svc_cidr: 10.43.0.0/16

# The Git repository that Flux syncs from.
# repository_name: owner/name
# repository_branch: main
# repository_visibility: private

{proxmox}
# Where OpenTofu stores its state: local, http or s3. See docs/state.md.
# state: local

# System extensions of every node; talops computes the schematic id from them.
# extensions: [siderolabs/qemu-guest-agent]
"""


def _proxmox_text(answers: Answers) -> str:
    return f"""\
# Proxmox. Do not store credentials here: talops secrets set proxmox_api_token_id …
proxmox_api_url: {answers.proxmox_url}
proxmox_node: {answers.proxmox_node}
# proxmox_insecure: false
# proxmox_ca_file: pve-ca.pem
# proxmox_iso_storage: local
# proxmox_disk_storage: local-lvm
# boot: iso                   # or image, template
# boot_network: static        # address from the nocloud drive; or dhcp
proxmox_vm_defaults:
  cores: 4
  sockets: 1
  memory: 8192                # MiB
  disk_size: 128              # GiB
# proxmox_vm_controller_defaults: {{cores: 2, memory: 4096}}
# proxmox_vm_worker_defaults: {{memory: 16384}}
# proxmox_vm_advanced: {{network_bridge: vmbr0, cpu_type: host}}
"""


def _proposed_text(found: Proposal) -> str:
    notes = "".join(f"# {_comment(note)}\n" for note in found.notes)
    access = _entry("proxmox_ca_file", Choice(found.ca_file, "")) if found.ca_file else ""
    if found.insecure:
        access = "proxmox_insecure: true   # from PROXMOX_VE_INSECURE; better: proxmox_ca_file"
    return f"""\
# Proxmox, as it was found. Do not store credentials here: talops secrets set proxmox_api_token_id …
{notes}{_entry("proxmox_api_url", found.url)}
{access or "# proxmox_ca_file: pve-ca.pem"}
{_entry("proxmox_node", found.node)}
{_entry("proxmox_iso_storage", found.iso_storage)}
{_entry("proxmox_disk_storage", found.disk_storage)}
# boot: iso                   # or image, template
# boot_network: static        # address from the nocloud drive; or dhcp
proxmox_vm_defaults:
  {_entry("cores", found.cores)}
  sockets: 1
  {_entry("disk_size", Choice(found.disk.value, f"GiB; {found.disk.reason}"))}
proxmox_vm_controller_defaults:
  {_entry("memory", found.controller_memory)}
proxmox_vm_worker_defaults:
  {_entry("memory", found.worker_memory)}
proxmox_vm_advanced:
  {_entry("network_bridge", found.bridge)}
{_hosts_text(found)}"""


def _hosts_text(found: Proposal) -> str:
    hosts = dict.fromkeys([found.node.value, *(p.host for p in found.placements if p.host)])
    if len(hosts) == 1:
        return ""
    lines = "".join(f"    - {_entry('name', Choice(host, ''))}\n" for host in hosts)
    return f"hypervisors:\n  nodes:\n{lines}"


_PLAIN = re.compile(r"[A-Za-z][\w.-]*|\d+(\.\d+){3}|[1-9]\d*|https://[\w.:\[\]-]+")
_WORDS = frozenset({"true", "false", "yes", "no", "on", "off", "null", "y", "n"})


def _entry(key: str, choice: Choice | None) -> str:
    """Names of another system: a value that YAML could take for something else is quoted."""
    if choice is None:
        return ""
    plain = _PLAIN.fullmatch(choice.value) and choice.value.lower() not in _WORDS
    value = choice.value if plain else json.dumps(choice.value)
    return f"{key}: {value}   # {_comment(choice.reason)}" if choice.reason else f"{key}: {value}"


def _comment(text: str) -> str:
    return visible(" ".join(text.split()))


_METAL = """\
# Bare metal: without these two keys, talops renders no OpenTofu files.
# proxmox_api_url: https://pve.example:8006
# proxmox_node: pve
"""


def nodes_text(answers: Answers) -> str:
    if answers.proposal:
        return _NODES.format("".join(_proposed(answers, answers.proposal)))
    entries = [
        _node(answers, f"{answers.name}-cp-{i}", 10 + i, controller=True)
        for i in range(1, answers.control_planes + 1)
    ]
    entries += [
        _node(answers, f"{answers.name}-w-{i}", 20 + i, controller=False)
        for i in range(1, answers.workers + 1)
    ]
    return _NODES.format("".join(entries))


_NODES = """\
# yaml-language-server: $schema=.schema/nodes.schema.json
# The nodes. All keys: `talops schema nodes`.
nodes:
{}"""


def _proposed(answers: Answers, proposal: Proposal) -> Iterator[str]:
    yield f"  # {_comment(proposal.vm_ids)}\n"
    yield "  # Proxmox shows no guest with these addresses; talops preflight asks the network.\n"
    for number, place in enumerate(proposal.placements, 1):
        controller = number <= answers.control_planes
        role = f"cp-{number}" if controller else f"w-{number - answers.control_planes}"
        yield f"""\
  - name: {answers.name}-{role}
    address: {answers.cidr.network_address + proposal.block + place.number}
    controller: {"true" if controller else "false"}
    vm_id: {place.vm_id}
"""
        if place.host:
            yield f"    {_entry('host', Choice(place.host, ''))}\n"
        yield from (f"    # {_comment(line)}\n" for line in place.extras)


def _node(answers: Answers, name: str, host: int, *, controller: bool) -> str:
    text = f"""\
  - name: {name}
    address: {answers.cidr.network_address + host}
    controller: {"true" if controller else "false"}
"""
    if answers.proxmox_url:
        return text + f"    vm_id: {100 + host}\n"
    return text + (
        f"    mac_addr: aa:bb:cc:00:00:{host:02x}   # the MAC address of the NIC\n"
        "    disk: /dev/sda                # or a serial number\n"
    )

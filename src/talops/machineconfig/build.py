"""Generate the validated config of every node from inventory and secrets."""

from __future__ import annotations

from typing import TYPE_CHECKING

from talops.errors import TalopsError
from talops.machineconfig.contract import Contract
from talops.machineconfig.from_inventory import requests
from talops.machineconfig.generate import generate
from talops.machineconfig.validation import find_problems

if TYPE_CHECKING:
    from talops.inventory.model import Cluster
    from talops.machineconfig.from_inventory import ReadPatch
    from talops.machineconfig.generate import MachineConfig
    from talops.machineconfig.secrets.bundle import Bundle

HINT = "correct the inventory or its patches, then: talops talos gen-config"


def build_configs(
    cluster: Cluster, bundle: Bundle, read_patch: ReadPatch
) -> dict[str, MachineConfig]:
    """Configs by node name, in inventory order; or one error with every problem."""
    wanted = requests(cluster, read_patch, bundle.contract)
    # A node accepts documents of older versions and rejects newer ones.
    readable = Contract.for_version(cluster.talos_version)
    configs: dict[str, MachineConfig] = {}
    problems: list[str] = []
    for node in wanted.nodes:
        config = generate(wanted.cluster, node, bundle)
        found = find_problems(config.documents, readable)
        problems += [f"{node.name}: {text}" for text in found]
        configs[node.name] = config
    if problems:
        count = "a machine config is" if len(problems) == 1 else "machine configs are"
        raise TalopsError(f"{count} not valid: " + "; ".join(problems), hint=HINT)
    return configs

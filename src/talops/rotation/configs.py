"""What one node is to run in this phase: its own config with the rotated part of the wanted one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from talops.errors import ConflictError
from talops.machineconfig.build import build_configs
from talops.machineconfig.generate import MachineConfig
from talops.machineconfig.shared_secrets import other_secrets
from talops.rotation.transplant import transplanted
from talops.site.config_differences import documents_of, pending, same
from talops.site.patch_texts import patch_reader

if TYPE_CHECKING:
    from talops.inventory.model import Node
    from talops.machineconfig.secrets.bundle import Bundle
    from talops.machineconfig.secrets.rotating import Rotated
    from talops.site.fleet import Configured
    from talops.site.site import Site


async def config_for(
    site: Site, bundle: Bundle, node: Node, state: Configured, rotated: Rotated
) -> MachineConfig | None:
    """None if the node runs it."""
    if pending(state):
        raise ConflictError(
            f"{node.name} runs a config that it has not stored",
            where=str(node.address),
            hint="talops up, then run the same command again",
        )
    read_patch = await patch_reader(site.cluster, site.root, site.sops)
    wanted = build_configs(site.cluster, bundle, read_patch)[node.name]
    running = documents_of(state.config)
    config = MachineConfig(
        node.name, node.controller, tuple(transplanted(running, wanted.documents, rotated))
    )
    if same(state.config, config):
        return None
    if others := other_secrets(running, config.documents):
        raise ConflictError(
            f"{node.name} does not run what these secrets say: {others[0].name}; "
            f"{others[0].breaks}",
            where=others[0].path,
            hint="pull the newest talos/talsecret.sops.yaml, then run the same command again",
        )
    return config

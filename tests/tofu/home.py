"""A lab in this process with a rendered site beside it, and `infra` ready to work on it."""

from __future__ import annotations

import os
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import httpx
from tests.real_provider import attached, borrowed, installed

from talops.app.infra.layers import OpenLayers
from talops.inventory.load import load
from talops.inventory.schematics import schematic_text
from talops.lab.tools import LabTools
from talops.lab.world import World
from talops.redaction import Secret
from talops.tofu.layers import find_layers

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping, Sequence
    from pathlib import Path

    import pytest
    from tests.real_provider import Programs

    from talops.events import Event
    from talops.lab.spec import LabSpec


@dataclass(frozen=True)
class Home:
    """One lab, one site."""

    world: World
    run: OpenLayers
    events: list[Event]

    @property
    def pve(self) -> Any:
        (only,) = self.world.proxmox.hypervisors.values()
        return only

    @property
    def vms(self) -> dict[str, Any]:
        """Name → VM, templates left out."""
        every = self.pve.vms.values()
        return {vm.config.get("name"): vm for vm in every if not vm.config.get("template")}

    def things(self) -> dict[str, list[str]]:
        """All that OpenTofu could have made, by kind."""
        pve = self.pve
        tables = {"pools": pve.pools, "mappings": pve.mappings, "acl": pve.acl, "vms": pve.vms}
        found = {kind: [str(key) for key in table.keys()] for kind, table in tables.items()}  # noqa: SIM118  (no mapping)
        return {**found, "volumes": sorted(v.volid for v in pve.storages.volumes.values())}


@asynccontextmanager
async def open_world(
    folder: Path, spec: LabSpec, patch: pytest.MonkeyPatch, programs: Programs
) -> AsyncIterator[World]:
    """A lab, and an environment in which OpenTofu finds it."""
    async with World(folder / "lab", spec, LabTools(None, borrowed(programs.mirror))) as world:
        details = world.endpoints()
        patch.setenv("TF_CLI_CONFIG_FILE", details["provider"]["cli_config"])
        patch.setenv("SSL_CERT_FILE", details["ca_file"])
        patch.setenv("PROXMOX_VE_ENDPOINT", details["proxmox"]["hosts"][0]["endpoint"])
        yield world


async def call(world: World, method: str, path: str, **more: Any) -> None:
    """As root, and until its task has ended."""
    details = world.endpoints()["proxmox"]
    (pve,) = world.proxmox.hypervisors.values()
    async with httpx.AsyncClient(
        base_url=f"{details['hosts'][0]['endpoint']}api2/json",
        verify=world.authority.client_context(),
        headers={"Authorization": f"PVEAPIToken={details['api_token']}"},
    ) as client:
        answer = await client.request(method, path, **more)
    assert answer.status_code == httpx.codes.OK, answer.text
    upid = str(answer.json()["data"])
    if upid in pve.tasks.table:
        await pve.tasks.wait(upid)
        assert pve.tasks.table[upid].exitstatus == "OK", pve.tasks.table[upid].log


def token_of(world: World) -> dict[str, Secret]:
    token, _, value = world.identity.credentials.api_token.partition("=")
    return {"proxmox_api_token_id": Secret(token), "proxmox_api_token_secret": Secret(value)}


@asynccontextmanager
async def settle(
    world: World,
    site: Path,
    programs: Programs,
    patch: pytest.MonkeyPatch,
    credentials: Mapping[str, Secret],
    init: Sequence[str] = (),
) -> AsyncIterator[Home]:
    """Initialised layers; `site` holds the inventory and what was rendered from it."""
    cluster = load(site).require()
    for node in cluster.nodes:
        world.factory.remember(schematic_text(node.extensions or ()))
    events: list[Event] = []
    layers = tuple(find_layers(site))
    run = OpenLayers(site, layers, programs.engine, events.append, cluster, credentials, os.environ)
    for layer in layers:
        await run.engine(layer).init(init)
    async with attached(installed(layers[0].path), run.variables(layers[0])) as reattach:
        patch.setenv("TF_REATTACH_PROVIDERS", reattach)
        yield Home(world, run, events)

"""`talops retemplate`: all nodes are cloned again from the template of the inventory, one by one.

Each node is a replacement of its own (`talops replace`): it leaves through the roll, and the
cluster is verified before the next one. What is left to do is read from the states, so that the
same command continues an interrupted one.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from talops.app import templates
from talops.errors import ConflictError, TalopsError
from talops.files import PRIVATE, write_atomic
from talops.render.layers import platform
from talops.rolls.order import groups
from talops.rolls.permission import refusal
from talops.rolls.removal.replacing import Replacements
from talops.tofu.clones import templates_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from talops.inventory.model import Cluster, Node
    from talops.proxmox.client import Access
    from talops.proxmox.templates import Recipe, Template
    from talops.rolls.options import RollOptions
    from talops.site.site import ClosedSite, Site

# VMIDs of templates that nodes stood on before.
RECORD = ".talops/retemplate.json"
TEMPLATE = "template"


@dataclass(frozen=True)
class Move:
    """One node that has to be cloned again. `source`: the VMID of its template, if it has one."""

    node: str
    source: int | None
    begun: bool = False

    def __str__(self) -> str:
        if self.begun:
            return f"{self.node}: an interrupted replacement is continued"
        source = f"cloned from {self.source}" if self.source else "not cloned from a template"
        return f"{self.node}: {source}"


@dataclass(frozen=True)
class Outlook:
    """`builds`: the template does not exist yet. `old`: templates that no node needs in the end."""

    recipe: Recipe
    builds: bool
    moves: tuple[Move, ...]
    old: tuple[Template, ...]

    @property
    def pending(self) -> bool:
        return bool(self.moves or self.old)

    def as_dict(self) -> dict[str, Any]:
        return {
            "version": 1,
            "template": {
                "name": self.recipe.name,
                "vm_id": self.recipe.vm_id,
                "host": self.recipe.host,
                "builds": self.builds,
            },
            "nodes": [
                {"name": move.node, "template": move.source, "continues": move.begun}
                for move in self.moves
            ],
            "removes": [{"name": t.name, "vm_id": t.vm_id, "host": t.host} for t in self.old],
        }


async def look(site: Site, access: Access, options: RollOptions) -> Outlook:
    """What is left to do for the chosen nodes; refuses before anything is changed."""
    recipe = _recipe(site)
    assert recipe.vm_id
    every = await templates.listed(access)
    sources = await _sources(site)
    moves = await _in_order(site, await _moves(site, sources, recipe.vm_id))
    _require_another_control_plane(site.cluster, moves)
    if moves and (held := await refusal(site, options)):
        held.what = f"{held.what}; nothing was changed"
        raise held
    moving = {move.node for move in moves}
    kept = {vm_id for name, vm_id in sources.items() if name not in moving} | {recipe.vm_id}
    before = _recorded(site) | {vm_id for vm_id in sources.values() if vm_id}
    old = tuple(t for t in every if t.ours and t.vm_id in before - kept)
    builds = all(template.vm_id != recipe.vm_id for template in every)
    return Outlook(recipe, builds, moves, old)


async def prepare(
    site: Site, access: Access, outlook: Outlook, note: Callable[[str], None]
) -> None:
    """The new template exists, and what nodes stood on is recorded, before the first one moves."""
    sources = {vm_id for vm_id in (await _sources(site)).values() if vm_id}
    assert outlook.recipe.vm_id
    _record(site, (_recorded(site) | sources) - {outlook.recipe.vm_id})
    await templates.build(site, access, [outlook.recipe], note)


async def clean(site: Site, access: Access, note: Callable[[str], None]) -> None:
    """Remove recorded templates that nothing stands on any more."""
    used = {vm_id for vm_id in (await _sources(site)).values() if vm_id}
    for template in await templates.listed(access):
        if template.ours and template.vm_id in _recorded(site) - used:
            await templates.remove(access, str(template.vm_id), [template.host])
            note(f"removed template {template.name} ({template.vm_id}) from {template.host}")
    if not _recorded(site) & used:
        (site.root / RECORD).unlink(missing_ok=True)


def _recipe(site: ClosedSite) -> Recipe:
    proxmox = site.cluster.proxmox
    if proxmox is None or proxmox.boot != TEMPLATE or proxmox.template is None:
        raise TalopsError(
            "this cluster does not clone its VMs from a template",
            where="cluster.yaml: boot",
            hint="for another image of a node: talops replace NODE",
        )
    return templates.wanted(site, [], all_hosts=False, source="image", vm_id=None)[0]


async def _moves(site: Site, sources: Mapping[str, int | None], wanted: int) -> list[Move]:
    record, found = Replacements(site), []
    for node in site.chosen:
        begun = await record.begun(node.name) is not None
        if node.vm and (begun or (node.name in sources and sources[node.name] != wanted)):
            found.append(Move(node.name, sources.get(node.name), begun))
    return found


async def _in_order(site: Site, moves: list[Move]) -> tuple[Move, ...]:
    """What was begun, then as in every roll: control planes, the sick ones first."""
    from talops.rolls.rolling import Rolling

    if not moves:
        return ()
    by_name = {move.node: move for move in moves}
    nodes = [node for node in site.cluster.nodes if node.name in by_name]
    found = await Rolling(site).roller.candidates(nodes)
    ordered = [n for group in groups(found, len(site.cluster.workers)) for n in group.names]
    return tuple(sorted((by_name[n] for n in ordered), key=lambda move: not move.begun))


def _require_another_control_plane(cluster: Cluster, moves: tuple[Move, ...]) -> None:
    planes: list[Node] = list(cluster.control_planes)
    only = planes[0].name if len(planes) == 1 else ""
    if any(move.node == only and not move.begun for move in moves):
        raise ConflictError(
            f"{only} is the only control plane: without it, the data of the cluster is lost; "
            "nothing was changed",
            where=only,
            hint="add control planes first (talops up); or move the other nodes only: "
            "talops retemplate --nodes REGEX",
        )


async def _sources(site: Site) -> dict[str, int | None]:
    from talops.site import layer_access as access

    layer = platform(site.cluster).at(site.root)
    if not layer.path.is_dir():
        raise TalopsError(
            "the OpenTofu files do not exist yet, so the VMs of this cluster are unknown",
            where=str(layer.path),
            hint="talops up --only configure; if the state was lost: talops recover",
        )
    engine = access.engine(site, layer, lambda _: None)
    await access.ensure_init(site.root, engine, access.variables(site, layer))
    text = await engine.state_pull()
    return templates_of(json.loads(text)) if text.strip() else {}


def _recorded(site: ClosedSite) -> set[int]:
    file = site.root / RECORD
    try:
        return {int(number) for number in json.loads(file.read_text(encoding="utf-8"))["old"]}
    except FileNotFoundError:
        return set()
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise TalopsError(
            f"the record of old templates cannot be read: {error}",
            where=str(file),
            hint="remove the file; old templates: talops template list",
        ) from error


def _record(site: ClosedSite, old: set[int]) -> None:
    text = json.dumps({"version": 1, "old": sorted(old)}, indent=2)
    write_atomic(site.root / RECORD, text + "\n", mode=PRIVATE)

"""Which differences `drift --fix` repairs: those that are safe to repair at any time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from talops.app.drift.kubernetes import LABEL, TAINT
from talops.app.drift.model import UPGRADES
from talops.workflows.repair import Repairs

if TYPE_CHECKING:
    from collections.abc import Sequence

    from talops.app.drift.model import AreaDrift, Difference


def repairs(results: Sequence[AreaDrift]) -> Repairs:
    """A layer that depends on files to be written is repaired in the next run."""
    found = {result.layer: result.differences for result in results}
    files, inside = found.get("files", ()), found.get("kubernetes", ())
    # A plan does not contain foreign disks; one that would touch them is not an online plan.
    proxmox = [d for d in found.get("proxmox", ()) if not d.foreign]
    gentle = gentle_stages(inside)
    return Repairs(
        files=bool(files) and all(d.safe for d in files),
        layers=bool(proxmox) and not files and all(d.safe for d in proxmox),
        storage=any(d.safe for d in found.get("storage", ())),
        nodes=tuple(quiet_nodes(found.get("talos", ()))),
        node_labels=any(d.safe and d.attribute.startswith((LABEL, TAINT)) for d in inside),
        addons="addons" in gentle,
        gitops="gitops" in gentle,
    )


def gentle_stages(differences: Sequence[Difference]) -> set[str]:
    """The stages `addons` and `gitops`, if none of their differences touches a running object."""
    by_stage = {
        stage: [d.safe for d in differences if d.attribute == stage]
        for stage in ("addons", "gitops")
    }
    return {stage for stage, safe in by_stage.items() if safe and all(safe)}


def quiet_nodes(differences: Sequence[Difference]) -> list[str]:
    """Nodes whose configs can be repaired without a restart; a repair changes no version."""
    configs = [d for d in differences if d.impact != UPGRADES]
    loud = {d.target for d in configs if not d.safe}
    return list(dict.fromkeys(d.target for d in configs if d.target not in loud))

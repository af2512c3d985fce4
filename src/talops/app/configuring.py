"""Which files `talops configure` writes, and when it must not remove any."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from talops.errors import TalopsError
from talops.generated import Action
from talops.plural import count
from talops.stages.configure import pending_files

if TYPE_CHECKING:
    from collections.abc import Sequence

    from talops.generated import Change
    from talops.inventory.model import Cluster


def planned_files(cluster: Cluster, root: Path) -> list[Change]:
    return pending_files(cluster, root)


def refuse_orphans(root: Path, planned: Sequence[Change]) -> None:
    """Refuse to remove the files of a layer whose local state still lists resources."""
    from talops.tofu.localstate import resource_count

    for change in planned:
        folder = root / Path(change.path).parent
        state = folder / "terraform.tfstate"
        if change.action is Action.REMOVE and (found := resource_count(state)):
            raise TalopsError(
                f"this layer is not in the inventory, but its state has {count(found, 'resource')}",
                where=str(folder.relative_to(root)),
                hint="restore the entry, run: talops infra destroy --layer "
                f"{folder.relative_to(root / 'infrastructure')}, then remove the entry",
            )

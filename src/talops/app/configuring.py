"""Write the files of `talops configure`, unless that would lose an edit or a layer."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from talops import generated, journal
from talops.errors import TalopsError
from talops.generated import Action
from talops.plural import count
from talops.stages.configure import pending_files

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from talops.generated import Change
    from talops.inventory.model import Cluster


def configure(
    cluster: Cluster, root: Path, note: Callable[[str], None], *, check: bool, force: bool
) -> list[Change]:
    """The changes of files, applied unless `check`; `note` receives the edits of users."""
    if not check:
        journal.finish(root)
    planned = pending_files(cluster, root)
    if not force:
        _refuse_edited(planned, note)
    refuse_orphans(root, planned)
    if not check:
        generated.apply(root, planned)
    return planned


def _refuse_edited(planned: Sequence[Change], note: Callable[[str], None]) -> None:
    edited = [change for change in planned if change.edited]
    if not edited:
        return
    for change in edited:
        note(change.diff())
    raise TalopsError(
        f"{count(len(edited), 'generated file')} edited by hand; nothing was changed",
        where=", ".join(change.path for change in edited),
        hint="move the change to cluster.yaml or nodes.yaml, "
        "or discard it: talops configure --force",
    )


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

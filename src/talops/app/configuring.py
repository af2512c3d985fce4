"""Write the files of `talops configure`, unless that would lose an edit or a layer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from talops import generated, journal
from talops.errors import TalopsError
from talops.generated import Action
from talops.pipeline.lock import Holder, local_lock
from talops.pipeline.rundir import new_run_id
from talops.plural import count
from talops.site.checkout import HOME, mark
from talops.stages.configure import pending_files

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence
    from pathlib import Path

    from talops.generated import Change
    from talops.inventory.model import Cluster
    from talops.site.site import ClosedSite


async def configure(
    cluster: Cluster,
    root: Path,
    note: Callable[[str], None],
    opened: Callable[[], Awaitable[ClosedSite]],
    *,
    check: bool,
    force: bool,
) -> list[Change]:
    """The changes of files, applied unless `check`; `note` receives the edits of users. `opened`
    gives the credentials for the states of layers that would be removed.
    """
    if check:
        return await _configured(cluster, root, note, opened, check=True, force=force)
    mark(root)
    holder = Holder.myself(new_run_id("configure"), "configure", root)
    # A run that is in progress applies what it has rendered.
    with local_lock(root / HOME / "lock", holder):
        journal.finish(root)
        return await _configured(cluster, root, note, opened, check=False, force=force)


async def _configured(
    cluster: Cluster,
    root: Path,
    note: Callable[[str], None],
    opened: Callable[[], Awaitable[ClosedSite]],
    *,
    check: bool,
    force: bool,
) -> list[Change]:
    planned = pending_files(cluster, root)
    if not force:
        _refuse_edited(planned, note)
    if any(change.action is Action.REMOVE for change in planned):
        from talops.site.state.orphans import orphaned_layers, refuse_orphans

        refuse_orphans(await orphaned_layers(await opened(), planned))
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

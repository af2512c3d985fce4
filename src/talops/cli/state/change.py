"""`talops state rollback|backup|restore|unlock|migrate`: restore and migrate states."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from talops.cli.options import Directory, Format, Output
from talops.cli.output import note, print_json
from talops.cli.state.look import State
from talops.cli.state.opening import open_backend, with_backend
from talops.errors import TalopsError

if TYPE_CHECKING:
    from talops.statestore.backends.interface import StateBackend

Force = Annotated[
    bool, typer.Option("--force", help="Overwrite a state with a higher serial or another lineage.")
]


def register(group: typer.Typer) -> None:
    group.command("rollback")(rollback)
    group.command("backup")(backup)
    group.command("restore")(restore)
    group.command("unlock")(unlock)
    group.command("migrate")(migrate)


def rollback(
    state: State,
    version: Annotated[str, typer.Argument(help="Version from `talops state versions`.")],
    directory: Directory = None,
) -> None:
    """Write a byte-identical copy of an older version as the newest one."""
    with_backend(directory, lambda found: found.rollback(state, version))
    note(f"{state} rolled back to version {version}; next: talops infra plan")


def backup(
    to: Annotated[Path, typer.Option(help="Directory for the copies.")] = Path("state-backup"),
    directory: Directory = None,
    output: Output = Format.TEXT,
) -> None:
    """Copy every state to private files, from any backend."""
    from talops.statestore.backends.restoring import back_up

    written = with_backend(directory, lambda found: back_up(found, to))
    if output is Format.JSON:
        print_json([str(path) for path in written])
    else:
        for path in written:
            typer.echo(path)


def restore(
    state: State,
    file: Annotated[
        Path | None, typer.Argument(help="State file; default: the newest valid copy.")
    ] = None,
    force: Force = False,
    directory: Directory = None,
) -> None:
    """Restore a lost or corrupt state from a file or from the newest stored version."""
    from talops.statestore.backends.restoring import restore_newest, whole_state

    if file is None:
        used = with_backend(directory, lambda found: restore_newest(found, state))
    else:
        data, used = whole_state(file), str(file)
        with_backend(directory, lambda found: found.write(state, data, force=force))
    note(f"{state} restored from {used}; next: talops infra plan")


def unlock(
    state: State,
    lock_id: Annotated[
        str | None, typer.Option("--id", help="Unlock only if the held lock has this id.")
    ] = None,
    directory: Directory = None,
) -> None:
    """Remove the stale lock of a state."""
    taken = with_backend(directory, lambda found: found.unlock(state, lock_id))
    note(f"{state} unlocked" if taken else f"{state} was not locked")


def migrate(
    source: Annotated[
        str,
        typer.Option(
            "--from",
            metavar="BACKEND",
            help="Source backend: local, https://HOST/PROJECT or s3://BUCKET/PREFIX.",
        ),
    ],
    target: Annotated[
        str | None,
        typer.Option(
            "--to", metavar="BACKEND", help="Target backend; default: `state` in cluster.yaml."
        ),
    ] = None,
    from_ca: Annotated[
        Path | None,
        typer.Option(
            "--from-ca", metavar="FILE", help="CA that signed the old server's certificate."
        ),
    ] = None,
    force: Force = False,
    directory: Directory = None,
) -> None:
    """Migrate all states to another backend; verifies each copy first."""
    from talops.statestore.backends.moving import Moved
    from talops.statestore.backends.moving import migrate as move

    root = (directory or Path.cwd()).absolute()

    async def work(new: StateBackend) -> list[Moved]:
        old = await open_backend(root, source, from_ca)
        try:
            if old.place == new.place:
                raise TalopsError(f"the states are already at {old.place}")
            return await move(old, new, force=force, report=note)
        finally:
            await old.close()

    moved = with_backend(directory, work, target)
    for each in moved:
        typer.echo(f"{each.state}\tserial {each.serial}\told one {each.left}")
    note(f"{len(moved)} migrated; next: talops configure && talops infra init -- -reconfigure")

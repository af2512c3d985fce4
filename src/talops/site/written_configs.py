"""The configs on disk: compare them with the wanted ones, and write them with private mode."""

from __future__ import annotations

from typing import TYPE_CHECKING

from talops import generated
from talops.errors import TalopsError
from talops.files import PRIVATE, make_private_directory, write_atomic
from talops.generated import Action, Change
from talops.machineconfig.places import CONFIGS, TALOSCONFIG
from talops.machineconfig.secrets import talosconfig
from talops.talosconfig import Talosconfig

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime
    from pathlib import Path

    from talops.machineconfig.generate import MachineConfig
    from talops.talosconfig import Context

SOURCES = "cluster.yaml and nodes.yaml"


def config_changes(
    directory: Path, configs: Mapping[str, MachineConfig], version: str
) -> list[Change]:
    """One file per node; files of removed nodes are removed."""
    wanted = {
        f"{CONFIGS}/{name}.yaml": generated.stamped(
            config.to_yaml(), version=version, sources=SOURCES
        )
        for name, config in configs.items()
    }
    return generated.changes(directory, wanted, [CONFIGS])


def talosconfig_change(directory: Path, wanted: Context, now: datetime) -> Change | None:
    """Renew the cluster's entry only if necessary; keep entries of other clusters."""
    path = directory / TALOSCONFIG
    try:
        before = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        text = talosconfig.dump(Talosconfig(wanted.name, {wanted.name: wanted}))
        return Change(TALOSCONFIG, Action.CREATE, "", text)
    except (OSError, UnicodeDecodeError) as error:
        raise TalopsError(f"cannot read: {error}", where=str(path)) from error
    found = talosconfig.parse(before, where=str(path))
    entry = talosconfig.keep_or_renew(found.contexts.get(wanted.name), wanted, now)
    merged = {**found.contexts, wanted.name: entry}
    if merged == found.contexts:
        return None
    text = talosconfig.dump(Talosconfig(found.context or wanted.name, merged))
    return Change(TALOSCONFIG, Action.UPDATE, before, text)


def talosconfig_without(directory: Path, name: str) -> Change | None:
    """The file without the entry of one cluster; removed if no other entry remains."""
    path = directory / TALOSCONFIG
    if not path.exists():
        return None
    before = path.read_text(encoding="utf-8")
    found = talosconfig.parse(before, where=str(path))
    if name not in found.contexts:
        return None
    left = {key: context for key, context in found.contexts.items() if key != name}
    if not left:
        return Change(TALOSCONFIG, Action.REMOVE, before, "")
    current = found.context if found.context in left else next(iter(left))
    text = talosconfig.dump(Talosconfig(current, left))
    return Change(TALOSCONFIG, Action.UPDATE, before, text)


def write(directory: Path, changes: list[Change]) -> None:
    folder = directory / CONFIGS
    if changes:
        make_private_directory(folder)
        # Regardless of the repository's own .gitignore: keys are never committed by accident.
        write_atomic(folder / ".gitignore", "*\n")
    for change in changes:
        path = directory / change.path
        if change.action is Action.REMOVE or change.path != TALOSCONFIG:
            # Remove a config before its successor is renamed: so there is never a second file with
            # its keys, and the next run writes a missing one again.
            path.unlink(missing_ok=True)
        if change.action is not Action.REMOVE:
            write_atomic(path, change.after, mode=PRIVATE, guarded=True)

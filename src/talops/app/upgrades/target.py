"""`talops upgrade`: the wanted versions go into cluster.yaml, if the cluster can reach them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from talops.app.upgrades.edit import with_version
from talops.errors import TalopsError
from talops.files import write_atomic
from talops.inventory.fields import VERSION
from talops.inventory.load import CLUSTER_FILE, load
from talops.inventory.problems import errors
from talops.upgrades.path import SETTING, Part

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from talops.app.upgrades.versions import Versions
    from talops.site.site import Site

_PARTS = {part.lower(): part for part in Part}


def targets(given: Iterable[str]) -> dict[Part, str]:
    """Of `talos=v1.14.1,kubernetes=v1.36.3`."""
    found: dict[Part, str] = {}
    for text in [piece for each in given for piece in each.split(",")]:
        name, _, version = text.strip().partition("=")
        part = _PARTS.get(name)
        if part is None or not VERSION.fullmatch(version):
            raise TalopsError(
                f"{text!r} is not a target of an upgrade",
                where="--to",
                hint="write talos=v1.14.1, kubernetes=v1.36.3, or both with a comma",
            )
        found[part] = version if version.startswith("v") else f"v{version}"
    if not found:
        raise TalopsError("there is no target", where="--to", hint="write --to talos=v1.14.1")
    return found


async def reachable(site: Site, wanted: Mapping[Part, str]) -> Versions:
    """The path there; raises if there is no path, before any file is changed."""
    from talops.app.upgrades.versions import look

    found = await look(site, wanted)
    if found.unread:
        raise found.unread[0]
    if found.path.refusals:
        first = found.path.refusals[0]
        raise TalopsError(first.what, where=first.setting, hint=first.hint)
    return found


def settings_of(found: Versions) -> dict[str, str]:
    """Keys of cluster.yaml with the oldest versions that run."""
    parts = (found.talos, found.kubernetes)
    return {SETTING[each.part]: each.running.low for each in parts if each.running}


def write(root: Path, wanted: Mapping[Part, str]) -> None:
    """Change the versions in cluster.yaml; it stays as it is if the new inventory has problems."""
    file = root / CLUSTER_FILE
    before = text = file.read_text(encoding="utf-8")
    cluster = load(root).require()
    for part, version in wanted.items():
        text = with_version(text, cluster.at.cluster_value(SETTING[part]), version)
    write_atomic(file, text)
    if wrong := errors(list(load(root).problems)):
        write_atomic(file, before)
        raise TalopsError(wrong[0].what, where=str(wrong[0].where), hint=wrong[0].hint)

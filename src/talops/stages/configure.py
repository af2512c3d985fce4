"""Stage `configure`: the generated files, the secrets of a new cluster, and its talosconfig."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from talops import __version__, generated
from talops.errors import TalopsError
from talops.machineconfig.places import SEALED, TALOSCONFIG
from talops.machineconfig.secrets.talosconfig import context_of
from talops.pipeline.stage import Change, Stage
from talops.plural import count
from talops.render.tree import render
from talops.site.state.orphans import orphaned_layers, refuse_orphans
from talops.site.state.passphrase import states_are_encrypted
from talops.site.written_configs import talosconfig_change, write

if TYPE_CHECKING:
    from pathlib import Path

    from talops.inventory.model import Cluster
    from talops.pipeline.stage import Reporter, Seen
    from talops.site.secrets_file import SecretsFile
    from talops.site.site import Site
    from talops.site.state.orphans import OrphanedLayer

SOURCES = "cluster.yaml and nodes.yaml"
TERRITORY = ("infrastructure", "Taskfile.yaml", "justfile")
FILES, SECRETS, ACCESS = "write", "generate", "issue"


@dataclass(frozen=True)
class Facts:
    files: tuple[generated.Change, ...]
    has_secrets: bool
    has_access: bool
    orphans: tuple[OrphanedLayer, ...] = ()


@dataclass(frozen=True)
class ConfigureChange(Change):
    files: tuple[generated.Change, ...] = field(default=(), repr=False)


def wanted_files(cluster: Cluster, root: Path) -> dict[str, str]:
    """Every generated file with its header."""
    files = render(cluster, encrypted=states_are_encrypted(cluster, root))
    return {
        path: generated.stamped(body, version=__version__, sources=SOURCES)
        for path, body in files.items()
    }


def pending_files(cluster: Cluster, root: Path) -> list[generated.Change]:
    """What `configure` would write or remove."""
    return generated.changes(root, wanted_files(cluster, root), TERRITORY)


class Configure(Stage[Facts, ConfigureChange]):
    name = "configure"
    proven_by_look = True

    def __init__(self, site: Site, secrets: SecretsFile, report: Reporter) -> None:
        self._site = site
        self._secrets = secrets
        self._report = report

    async def observe(self) -> Facts:
        root = self._site.root
        found = pending_files(self._site.cluster, root)
        has_secrets = await self._secrets.read() is not None
        has_access = has_secrets and await self._access() is None
        orphans = await orphaned_layers(self._site, found)
        return Facts(tuple(found), has_secrets, has_access, orphans)

    def plan(self, facts: Facts) -> list[ConfigureChange]:
        refuse_orphans(facts.orphans)
        edited = [change.path for change in facts.files if change.edited]
        if edited:
            raise TalopsError(
                f"{count(len(edited), 'generated file')} edited by hand",
                where=", ".join(edited),
                hint=(
                    "talops configure shows the differences; talops configure --force "
                    "overwrites them"
                ),
            )
        changes = [] if facts.has_secrets else [ConfigureChange(SECRETS, SEALED, "PKI and tokens")]
        if facts.files:
            detail = count(len(facts.files), "file")
            changes.append(ConfigureChange(FILES, "infrastructure/", detail, files=facts.files))
        if not facts.has_access:
            changes.append(ConfigureChange(ACCESS, TALOSCONFIG, "for talosctl and talops talos"))
        return changes

    async def apply(self, change: ConfigureChange) -> None:
        if change.action == SECRETS:
            await self._secrets.create()
        elif change.action == ACCESS:
            pending = await self._access()
            write(self._site.root, [pending] if pending else [])
        else:
            generated.apply(self._site.root, list(change.files))

    async def verify(self, _: Seen[Facts, ConfigureChange], /) -> None:
        await self._secrets.require()
        left = (await self.observe()).files
        if left:
            raise TalopsError("generated files differ right after writing them", where=left[0].path)

    async def _access(self) -> generated.Change | None:
        """The pending change of the talosconfig: a new entry, another CA, or a new certificate."""
        now = datetime.now(UTC)
        wanted = context_of(self._site.cluster, await self._secrets.require(), now)
        return talosconfig_change(self._site.root, wanted, now)

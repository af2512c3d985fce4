"""Import a cluster of another tool: read, propose, prove, and only then write."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from talops.app.creating import create_surroundings
from talops.app.opening import open_keys
from talops.errors import ConflictError
from talops.files import PRIVATE
from talops.importing.comparison import summary
from talops.importing.proposal import propose
from talops.importing.reading import read_source
from talops.importing.sources.files import Source, bounds, is_encrypted, plain_text
from talops.journal import replace_together
from talops.machineconfig.places import PLAIN, SEALED

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path
    from typing import Any

    from talops.app.opening import Keys
    from talops.events import Emit
    from talops.importing.model import FoundCluster
    from talops.importing.proposal import Proposal

_SUFFIXES = frozenset({".yaml", ".yml", ".env", ".json", ".tpl"})
# Directories that contain no configuration, but may contain much.
_SKIPPED = frozenset({".git", ".talops", ".terraform", ".venv", "node_modules"})
_MOST_FILES = 20_000
_COMMENT = """\
Imported from {source}: settings of the nodes that cluster.yaml and nodes.yaml have no key for.
Parts with `$patch: delete` are what talops would write, and these nodes do not have."""


@dataclass(frozen=True)
class Asked:
    """`given`: keys that the source does not say. `addresses`: of nodes, by name or file."""

    tool: str
    source: Path
    target: Path
    given: Mapping[str, Any]
    addresses: Mapping[str, str]


@dataclass(frozen=True)
class Imported:
    proposal: Proposal
    written: tuple[str, ...]

    @property
    def summary(self) -> str:
        """`0 differences`, or how many."""
        return summary(self.proposal.differences)


async def read_cluster(asked: Asked, environment: Mapping[str, str], emit: Emit) -> FoundCluster:
    decrypted = await _decrypted(asked.source.resolve(), environment, emit)
    source = Source(asked.source.resolve(), decrypted)
    return await asyncio.to_thread(read_source, asked.tool, source, asked.addresses)


async def import_cluster(
    asked: Asked, environment: Mapping[str, str], emit: Emit, *, dry_run: bool
) -> Imported:
    """Nothing is written before the whole inventory and its proof exist."""
    if not dry_run:
        refuse_existing(asked.target)
    found = await read_cluster(asked, environment, emit)
    proposal = await asyncio.to_thread(propose, found, asked.given)
    if dry_run:
        return Imported(proposal, ())
    written = await write_proposal(asked.target.resolve(), proposal, found, environment, emit)
    return Imported(proposal, tuple(written))


def refuse_existing(target: Path) -> None:
    """An inventory, or secrets, that exist are never overwritten."""
    for name in ("cluster.yaml", "nodes.yaml", SEALED, PLAIN):
        if (target / name).exists():
            raise ConflictError(
                f"{name} exists and is never overwritten",
                where=str(target),
                hint="import into an empty directory: talops import … -C DIRECTORY",
            )


async def write_proposal(
    root: Path,
    proposal: Proposal,
    found: FoundCluster,
    environment: Mapping[str, str],
    emit: Emit,
) -> list[str]:
    """All files together; secrets leave the memory encrypted."""
    refuse_existing(root)
    surroundings = [file.path for file in create_surroundings(root) if not file.kept]
    keys = await open_keys(root, environment, emit)
    contents = {"cluster.yaml": proposal.cluster_text, "nodes.yaml": proposal.nodes_text}
    contents[SEALED] = await _sealed(keys, root / SEALED, proposal.bundle.to_yaml())
    comment = _COMMENT.format(source=found.source)
    for file in proposal.patches.files:
        text = file.text(comment)
        place = root / file.path
        contents[file.path] = await _sealed(keys, place, text) if file.sealed else text
    for name in contents:
        if (root / name).exists():
            raise ConflictError(f"{name} exists and is never overwritten", where=str(root))
    replace_together(root, contents.items())
    (root / SEALED).chmod(PRIVATE)
    return [*contents, *surroundings]


async def _sealed(keys: Keys, place: Path, text: str) -> str:
    return await replace(keys.sops, root=keys.sops.root).encrypt(text, place)


async def _decrypted(root: Path, environment: Mapping[str, str], emit: Emit) -> dict[Path, str]:
    """The plain text of every file of the source that SOPS encrypted; in memory only."""
    sealed = [path for path in _candidates(root) if is_encrypted(plain_text(path, path.name))]
    if not sealed:
        return {}
    keys = await open_keys(sealed[0].parent, environment, emit)
    texts = await asyncio.gather(*(keys.sops.decrypt(path) for path in sealed))
    return dict(zip((path.resolve() for path in sealed), texts, strict=True))


def _candidates(root: Path) -> Iterator[Path]:
    if root.is_file():
        yield root
        return
    waiting, seen, whole = [root], 0, bounds(root)
    while waiting:
        for path in sorted(waiting.pop().iterdir()):
            seen += 1
            if seen > _MOST_FILES:
                return
            if path.is_dir() and not path.is_symlink():
                # The objects of Flux have other keys, and no machine configs.
                if path.name not in _SKIPPED and path.name != "kubernetes":
                    waiting.append(path)
            elif path.suffix in _SUFFIXES and path.is_file() and _belongs(path, whole):
                yield path


def _belongs(path: Path, whole: Path) -> bool:
    """Not a symlink that leads elsewhere: the key of this user opens other files of theirs, too."""
    return path.resolve().is_relative_to(whole)

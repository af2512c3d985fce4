"""Separate keys: what differs between the files and a cluster with an identity of its own."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING

from talops.errors import DeniedError, TalopsError
from talops.files import write_atomic
from talops.secrets import cluster_key
from talops.secrets.age import AgeKey
from talops.secrets.metadata import read_recipients
from talops.secrets.rotation import encrypted_files, for_recipients
from talops.secrets.rule_edits import with_cluster
from talops.secrets.rules import FILE as RULES_FILE
from talops.secrets.rules import replace_recipient

if TYPE_CHECKING:
    from pathlib import Path

    from talops.secrets.cluster_key import ClusterKey
    from talops.secrets.sops import Sops
    from talops.secrets.vault import Vault

AT_ONCE = 4


@dataclass(frozen=True)
class FileChange:
    """The recipients that one encrypted file gains and loses."""

    name: str
    add: tuple[str, ...] = ()
    remove: tuple[str, ...] = ()


@dataclass(frozen=True)
class Pending:
    """`rules` is the new text of .sops.yaml, None if it is right."""

    rules: str | None = None
    files: tuple[FileChange, ...] = ()


async def make_key(vault: Vault) -> None:
    """Store a new identity for the cluster; an existing one is kept."""
    if cluster_key.cluster_key(await vault.read()) is None:
        await vault.write({cluster_key.CURRENT: AgeKey.generate().identity})


async def begin_rotation(vault: Vault) -> None:
    if not (await vault.read()).get(cluster_key.NEXT):
        await vault.write({cluster_key.NEXT: AgeKey.generate().identity})


async def end_rotation(vault: Vault) -> None:
    """The next identity becomes the current one, in one write."""
    following = (await vault.read()).get(cluster_key.NEXT)
    if following:
        await vault.write({cluster_key.CURRENT: following}, remove=[cluster_key.NEXT])


async def pending(root: Path, key: ClusterKey, folder: str) -> Pending:
    """What is left to do in this directory; needs no key."""
    names = [str(file.relative_to(root)) for file in await encrypted_files(root)]
    inside = [name for name in names if cluster_key.is_inside(name, folder)]
    changes = [
        _change(root, name, key, inside=cluster_key.is_inside(name, folder)) for name in names
    ]
    text = _rules_text(root)
    wanted = with_cluster(_renamed(text, key), folder, inside, key.goal.recipient)
    return Pending(
        wanted if wanted != text else None,
        tuple(change for change in changes if change.add or change.remove),
    )


def change_rules(root: Path, text: str) -> None:
    write_atomic(root / RULES_FILE, text)


async def change_file(sops: Sops, key: ClusterKey, change: FileChange) -> None:
    """Verified with the new key alone where it is added, with the operator's where one is lost."""
    assert sops.keys
    proof = key.ring if change.add else sops.keys
    file = sops.root / change.name
    await for_recipients(sops, file, proof, add=change.add, remove=change.remove)


async def prove(alone: Sops, folder: str) -> int:
    """Try the keys of the cluster on every encrypted file: they open those of the folder and no
    others. Returns the number of files they open.
    """
    gate = asyncio.Semaphore(AT_ONCE)

    async def opens(file: Path) -> bool:
        async with gate:
            try:
                await alone.decrypt(file)
            except DeniedError:
                return False
        return True

    files = await encrypted_files(alone.root)
    found = dict(zip(files, await asyncio.gather(*map(opens, files)), strict=True))
    for file, opened in found.items():
        name = str(file.relative_to(alone.root))
        if opened is not cluster_key.is_inside(name, folder):
            verb = "opens" if opened else "does not open"
            raise TalopsError(
                f"the key of the cluster {verb} this file", where=name, hint="talops secrets split"
            )
    return sum(found.values())


def _change(root: Path, name: str, key: ClusterKey, *, inside: bool) -> FileChange:
    have = read_recipients(root / name) or frozenset()
    want = {key.goal.recipient} if inside else set()
    return FileChange(
        name, tuple(sorted(want - have)), tuple(sorted((key.recipients - want) & have))
    )


def _renamed(text: str, key: ClusterKey) -> str:
    """During a rotation the new recipient is listed instead of the old one."""
    return replace_recipient(text, [key.old.recipient], key.goal.recipient) if key.old else text


def _rules_text(root: Path) -> str:
    try:
        return (root / RULES_FILE).read_text(encoding="utf-8")
    except FileNotFoundError:
        raise TalopsError(
            "file does not exist", where=RULES_FILE, hint="talops secrets init"
        ) from None

"""Rotate the age key: every file is verified with the new key before the old one is removed.

1. key file: add the new key             from now on the key file decrypts every file
2. every file: add the new recipient     verify each copy with the new key, then replace the file
3. .sops.yaml: replace the old recipient
4. every file: remove the old recipient  verify each copy with the new key, then replace the file
5. key file: remove the old keys

After an interruption the same command finds the mark in the key file and continues.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from talops.errors import TalopsError
from talops.events import Emit, Note
from talops.files import write_atomic
from talops.secrets import keyfile
from talops.secrets.age import AgeKey, KeyRing, load_keys
from talops.secrets.cluster_key import cluster_key
from talops.secrets.gitfiles import known_files
from talops.secrets.metadata import is_encrypted_name, read_recipients
from talops.secrets.rules import FILE as RULES_FILE
from talops.secrets.rules import load_rules, replace_recipient
from talops.secrets.vault import Vault, replacing

if TYPE_CHECKING:
    from pathlib import Path

    from talops.secrets.sops import Sops


@dataclass(frozen=True)
class RotationResult:
    old: tuple[str, ...]
    new: str
    files: tuple[str, ...]
    # The cluster has an identity of its own, which this did not change.
    separate: bool = False


async def rotate(sops: Sops, key_file: Path, emit: Emit) -> RotationResult:
    """Replace the keys in `key_file` with a new one, in every encrypted file of the repository."""
    ring = _begin(key_file, emit)
    new = ring.rotating_to
    assert new
    old = tuple(key for key in ring.keys if key != new)
    both = replace(sops, keys=ring)
    files = await encrypted_files(sops.root)
    for file in files:
        await for_recipients(both, file, ring.only(new), add=(new.recipient,))
    _change_rules(sops.root, old, new)
    gone = tuple(key.recipient for key in old)
    for file in files:
        await for_recipients(both, file, ring.only(new), remove=gone)
        emit(Note(f"{file.relative_to(sops.root)}: encrypted for {new.recipient}"))
    separate = cluster_key(await Vault.of(both).read()) is not None
    keyfile.keep_only(key_file, new)
    names = tuple(str(file.relative_to(sops.root)) for file in files)
    return RotationResult(gone, new.recipient, names, separate)


async def follow_rules(sops: Sops, emit: Emit) -> list[str]:
    """Encrypt every file for exactly the recipients in .sops.yaml; returns the changed files."""
    rules = load_rules(sops.root)
    if rules is None or sops.keys is None:
        raise TalopsError(".sops.yaml or the age key does not exist", hint="talops secrets init")
    changed: list[str] = []
    for file in await encrypted_files(sops.root):
        name = str(file.relative_to(sops.root))
        have, want = read_recipients(file) or frozenset(), rules.recipients_for(name)
        if want is None or want == have:
            continue
        if not want & sops.keys.recipients:
            raise TalopsError(
                "the current key could no longer decrypt this file",
                where=name,
                hint="add its recipient to .sops.yaml",
            )
        add, remove = tuple(sorted(want - have)), tuple(sorted(have - want))
        await for_recipients(sops, file, sops.keys, add=add, remove=remove)
        emit(Note(f"{name}: encrypted for {', '.join(sorted(want))}"))
        changed.append(name)
    return changed


async def encrypted_files(root: Path) -> list[Path]:
    """Every encrypted file of the repository, including new ones."""
    files = [root / name for name in await known_files(root) if is_encrypted_name(name)]
    return [file for file in files if file.is_file() and read_recipients(file) is not None]


def _begin(key_file: Path, emit: Emit) -> KeyRing:
    ring = load_keys(key_file)
    if ring is None:
        raise TalopsError("no key to rotate", where=str(key_file), hint="talops secrets init")
    if ring.rotating_to:
        emit(Note(f"continuing the rotation to {ring.rotating_to.recipient}"))
        return ring
    new = AgeKey.generate()
    keyfile.add(key_file, new)
    return KeyRing((*ring.keys, new), rotating_to=new)


async def for_recipients(
    sops: Sops,
    file: Path,
    proof: KeyRing,
    *,
    add: tuple[str, ...] = (),
    remove: tuple[str, ...] = (),
) -> None:
    """`proof` alone must open the new file, otherwise the old one stays."""
    have = read_recipients(file) or frozenset()
    add = tuple(recipient for recipient in add if recipient not in have)
    remove = tuple(recipient for recipient in remove if recipient in have)
    if not add and not remove:
        return
    before = await sops.decrypt(file)
    with replacing(file) as copy:
        await sops.change_recipients(copy, add=add, remove=remove)
        if await replace(sops, keys=proof).decrypt(copy) != before:
            raise TalopsError("the new file does not decrypt to the same content", where=str(file))


def _change_rules(root: Path, old: tuple[AgeKey, ...], new: AgeKey) -> None:
    file = root / RULES_FILE
    if load_rules(root) is None:
        return
    text = file.read_text(encoding="utf-8")
    changed = replace_recipient(text, [key.recipient for key in old], new.recipient)
    if changed != text:
        write_atomic(file, changed)

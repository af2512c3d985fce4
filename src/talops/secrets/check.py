"""`talops secrets check`: plain secrets, files that cannot be decrypted, stale recipients."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from talops.errors import TalopsError
from talops.secrets.cluster_key import FOLDER, cluster_key, is_inside
from talops.secrets.gitfiles import known_files, read_text, staged_files, tracked_files
from talops.secrets.metadata import is_encrypted_name, recipients_of
from talops.secrets.rules import FILE as RULES_FILE
from talops.secrets.rules import Rules, load_rules
from talops.secrets.scan import in_file, scan
from talops.secrets.vault import Vault

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from talops.problems import FileProblem
    from talops.redaction import Secret
    from talops.secrets.cluster_key import ClusterKey
    from talops.secrets.sops import Sops

AT_ONCE = 4
# Names and ids are stored with the secrets but are not secret.
_NO_SECRET = ("_id", "_username")

HOOK = """\
#!/bin/sh
# Written by talops secrets init: keeps plain secrets out of commits.
exec talops secrets check --staged
"""


async def check_repository(sops: Sops, folder: str = FOLDER) -> list[FileProblem]:
    """Report every problem at once; `folder` is what the key of the cluster opens."""
    root = sops.root
    names = await tracked_files(root)
    texts = {name: text for name in names if (text := read_text(root, name)) is not None}
    encrypted = [name for name in await known_files(root) if is_encrypted_name(name)]
    problems = await _opened(sops, encrypted)
    problems += _recipients(root, encrypted)
    known = await _known_values(sops)
    problems += _plain(texts, known)
    problems += _for_cluster(root, encrypted, cluster_key(known), folder)
    return sorted(problems, key=lambda problem: problem.where)


async def check_staged(sops: Sops) -> list[FileProblem]:
    """Check what the next commit adds: quick enough for a hook, and without a key."""
    texts = await staged_files(sops.root)
    known = await _known_values(sops) if sops.keys else {}
    return _plain(texts, known)


def _plain(texts: Mapping[str, str], known: Mapping[str, Secret]) -> list[FileProblem]:
    problems: list[FileProblem] = []
    for name, text in texts.items():
        try:
            sealed = is_encrypted_name(name) and recipients_of(text, name) is not None
        except TalopsError as error:
            problems.append(in_file("cannot open", name, error.what, "restore it from Git"))
            continue
        if sealed:
            continue
        problems += scan(name, text, known)
        if is_encrypted_name(name):
            what = "is named like an encrypted file but is not encrypted"
            problems.append(in_file("plain secret", name, what, "sops encrypt --in-place"))
    return problems


async def _known_values(sops: Sops) -> dict[str, Secret]:
    try:
        values = await Vault.of(sops).read()
    except TalopsError:  # reported by name with the files that cannot be decrypted
        values = {}
    known = {name: value for name, value in values.items() if not name.endswith(_NO_SECRET)}
    for key in sops.keys.keys if sops.keys else ():
        known[f"the age key {key.recipient}"] = key.identity
    return known


async def _opened(sops: Sops, names: list[str]) -> list[FileProblem]:
    gate = asyncio.Semaphore(AT_ONCE)

    async def one(name: str) -> FileProblem | None:
        if _recipients_or_none(sops.root, name) is None:  # not encrypted, reported as such
            return None
        async with gate:
            try:
                await sops.decrypt(sops.root / name)
            except TalopsError as error:
                hint = error.hint or "talops secrets edit"
                return in_file("cannot open", name, error.what, hint)
        return None

    found = await asyncio.gather(*(one(name) for name in names))
    return [problem for problem in found if problem]


def _recipients(root: Path, names: list[str]) -> list[FileProblem]:
    rules = load_rules(root)
    if rules is None:
        hint = "talops secrets init"
        return [in_file("no rule", RULES_FILE, ".sops.yaml does not exist", hint)] if names else []
    found = (_stale(root, rules, name) for name in names)
    return [problem for problem in found if problem]


def _for_cluster(
    root: Path, names: list[str], key: ClusterKey | None, folder: str
) -> list[FileProblem]:
    """Files that the key in the cluster opens, although Flux does not apply them."""
    found = []
    for name in names if key else ():
        have = _recipients_or_none(root, name) or frozenset()
        if key and key.recipients & have and not is_inside(name, folder):
            what = f"the key of the cluster opens this file, which is outside {folder}/"
            found.append(in_file("cluster key", name, what, "talops secrets split"))
    return found


def _stale(root: Path, rules: Rules, name: str) -> FileProblem | None:
    have, want = _recipients_or_none(root, name), rules.recipients_for(name)
    if have is None:
        return None
    if want is None:
        what = "no rule of .sops.yaml covers this path"
        return in_file("no rule", name, what, "add a rule, or move the file")
    if have == want:
        return None
    extra, missing = sorted(have - want), sorted(want - have)
    parts = [f"is encrypted for {', '.join(extra)}, not listed in .sops.yaml"] if extra else []
    parts += [f"is not encrypted for {', '.join(missing)}"] if missing else []
    hint = "talops secrets rotate --recipients-only"
    return in_file("stale recipients", name, "; ".join(parts), hint)


def _recipients_or_none(root: Path, name: str) -> frozenset[str] | None:
    text = read_text(root, name)
    try:
        return recipients_of(text, name) if text is not None else None
    except TalopsError:
        return None

"""`talops secrets init`: create key, rules, .gitignore, credentials and hook if missing."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from talops.errors import DeniedError, TalopsError
from talops.files import PRIVATE, sweep, write_atomic
from talops.redaction import Secret
from talops.secrets import cluster_key
from talops.secrets.age import AgeKey, KeyRing, check_recipients, load_keys
from talops.secrets.check import HOOK
from talops.secrets.gitfiles import hooks_directory
from talops.secrets.rotation import encrypted_files
from talops.secrets.rule_edits import with_cluster
from talops.secrets.rules import FILE as RULES_FILE
from talops.secrets.rules import load_rules, rules_text
from talops.secrets.vault import Vault

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from talops.secrets.sops import Sops

KEY_FILE = "age.key"
_IGNORED = (
    f"/{KEY_FILE}",
    "/kubeconfig",
    "/talosconfig",
    # The temporary file of a killed write on a file system without O_TMPFILE.
    f"/.{KEY_FILE}.*",
    # States and plans contain credentials.
    ".talops/",
    ".terraform/",
    "*.tfstate",
    "*.tfstate.*",
    "*.tfplan",
)


@dataclass(frozen=True)
class CreatedFiles:
    """The files that were created; the others existed."""

    recipient: str
    files: tuple[str, ...]
    sops: Sops


async def init(
    sops: Sops, key_file: Path, others: Sequence[str] = (), *, hook: bool = True
) -> CreatedFiles:
    check_recipients(others)
    made: list[str] = []
    keys = sops.keys or _make_key(key_file, made)
    sops = replace(sops, keys=keys)
    recipient = keys.keys[0].recipient
    _ignore(sops.root, made)
    _make_rules(sops.root, [recipient, *others], keys, made)
    vault = Vault.of(sops)
    if not vault.file.exists():
        # The values without another source: generated here, never shown.
        key = await _new_cluster_key(sops.root)
        own = {cluster_key.CURRENT: key.identity} if key else {}
        passphrase = Secret(secrets.token_urlsafe(32))
        await vault.write({"state_encryption_passphrase": passphrase, **own})
        made.append(str(vault.file.relative_to(sops.root)))
    await _list_cluster(vault, made)
    if hook:
        await _install_hook(sops.root, made)
    return CreatedFiles(recipient, tuple(made), sops)


def find_keys(key_file: Path, text: Secret | None = None) -> KeyRing | None:
    """The key from the environment if set, otherwise from the file."""
    if text:
        from talops.secrets.age import parse_keys

        return parse_keys(text.reveal(), "SOPS_AGE_KEY")
    sweep(key_file)
    return load_keys(key_file)


def _make_key(key_file: Path, made: list[str]) -> KeyRing:
    ring = KeyRing((AgeKey.generate(),))
    ring.save(key_file)
    made.append(str(key_file))
    return ring


def _make_rules(root: Path, recipients: list[str], keys: KeyRing, made: list[str]) -> None:
    rules = load_rules(root)
    if rules is None:
        write_atomic(root / RULES_FILE, rules_text(recipients))
        made.append(RULES_FILE)
    elif not rules.recipients & keys.recipients:
        raise TalopsError(
            f"does not list the recipient of the current age key ({recipients[0]})",
            where=str(root / RULES_FILE),
            hint="put the listed key into age.key, or add this recipient",
        )


async def _new_cluster_key(root: Path) -> AgeKey | None:
    """None where Flux has files already, or the rules have no place for another recipient: there
    `talops secrets split` does it, or says what is missing.
    """
    key = AgeKey.generate()
    try:
        changed = _with_cluster(root, key)
    except TalopsError:
        return None
    return key if changed and not await _has_files_of_flux(root) else None


async def _list_cluster(vault: Vault, made: list[str]) -> None:
    """The recipient is listed only when its key is stored: an interruption cannot lose a key."""
    root = vault.sops.root
    try:
        key = cluster_key.cluster_key(await vault.read())
    except DeniedError:  # a new colleague, for whom the files are not encrypted yet
        return
    if key is None or await _has_files_of_flux(root):
        return
    if changed := _with_cluster(root, key.goal):
        write_atomic(root / RULES_FILE, changed)
        made.append(f"recipient of the cluster in {RULES_FILE}")


def _with_cluster(root: Path, key: AgeKey) -> str | None:
    """The new text of .sops.yaml; None if it lists the cluster already."""
    text = (root / RULES_FILE).read_text(encoding="utf-8")
    changed = with_cluster(text, cluster_key.FOLDER, (), key.recipient)
    return changed if changed != text else None


async def _has_files_of_flux(root: Path) -> bool:
    names = [str(file.relative_to(root)) for file in await encrypted_files(root)]
    return any(cluster_key.is_inside(name, cluster_key.FOLDER) for name in names)


def _ignore(root: Path, made: list[str]) -> None:
    file = root / ".gitignore"
    lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
    have = {line.strip().lstrip("/") for line in lines}
    missing = [pattern for pattern in _IGNORED if pattern.lstrip("/") not in have]
    if missing:
        write_atomic(file, "\n".join([*lines, *missing]) + "\n")
        made.append(".gitignore")


async def _install_hook(root: Path, made: list[str]) -> None:
    folder = await hooks_directory(root)
    if folder is None or (folder / "pre-commit").exists():  # no Git, or a hook of the user
        return
    write_atomic(folder / "pre-commit", HOOK, mode=PRIVATE | 0o155)
    made.append("pre-commit hook")

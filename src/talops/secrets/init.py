"""`talops secrets init`: create key, rules, .gitignore, credentials and hook if missing."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from talops.errors import TalopsError
from talops.files import PRIVATE, sweep, write_atomic
from talops.redaction import Secret
from talops.secrets.age import AgeKey, KeyRing, check_recipients, load_keys
from talops.secrets.check import HOOK
from talops.secrets.gitfiles import hooks_directory
from talops.secrets.rules import FILE as RULES_FILE
from talops.secrets.rules import load_rules, rules_text
from talops.secrets.vault import Vault

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from talops.secrets.sops import Sops

KEY_FILE = "age.key"
# The last one is the temporary file of a killed write on a file system without O_TMPFILE.
_IGNORED = (KEY_FILE, "kubeconfig", "talosconfig", f".{KEY_FILE}.*")


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
        # The only value without another source: generated here, never shown.
        await vault.write({"state_encryption_passphrase": Secret(secrets.token_urlsafe(32))})
        made.append(str(vault.file.relative_to(sops.root)))
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


def _ignore(root: Path, made: list[str]) -> None:
    file = root / ".gitignore"
    lines = file.read_text(encoding="utf-8").splitlines() if file.exists() else []
    have = {line.strip().lstrip("/") for line in lines}
    missing = [name for name in _IGNORED if name not in have]
    if missing:
        write_atomic(file, "\n".join([*lines, *(f"/{name}" for name in missing)]) + "\n")
        made.append(".gitignore")


async def _install_hook(root: Path, made: list[str]) -> None:
    folder = await hooks_directory(root)
    if folder is None or (folder / "pre-commit").exists():  # no Git, or a hook of the user
        return
    write_atomic(folder / "pre-commit", HOOK, mode=PRIVATE | 0o155)
    made.append("pre-commit hook")

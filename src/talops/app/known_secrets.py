"""All secrets of a site; a support bundle contains none of them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from talops.app.opening import open_keys
from talops.errors import TalopsError
from talops.redaction import Secret

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from talops.app.opening import Keys
    from talops.events import Emit

_SECRET_VARIABLE = re.compile(
    r".*(PASSWORD|TOKEN|SECRET|PASSPHRASE|ACCESS_KEY|TICKET|AGE_KEY)", flags=re.IGNORECASE
)
# Names, ids and the path of a key are not secret.
_NO_SECRET = re.compile(r".*(_ID|_USERNAME|_FILE|_USER)", flags=re.IGNORECASE)


def environment_secrets(variables: Mapping[str, str]) -> dict[str, Secret]:
    return {
        name: Secret(value)
        for name, value in variables.items()
        if value and _SECRET_VARIABLE.fullmatch(name) and not _NO_SECRET.fullmatch(name)
    }


async def known_secrets(
    root: Path, environment: Mapping[str, str], emit: Emit
) -> dict[str, Secret]:
    """All values that must not be in the bundle; an error if one cannot be read."""
    try:
        return await _opened(await open_keys(root, environment, emit), root)
    except TalopsError as error:
        raise TalopsError(
            f"cannot exclude secrets from the bundle, because they cannot be read: {error.what}",
            where=error.where,
            hint="set SOPS_AGE_KEY_FILE to the age key, or run: talops support --patterns-only",
        ) from error


async def _opened(keys: Keys, root: Path) -> dict[str, Secret]:
    from talops.machineconfig.secrets import bundle as bundles
    from talops.secrets.vault import Vault
    from talops.site.secrets_file import find_secrets

    values = await Vault.of(keys.sops).read()
    known = {name: value for name, value in values.items() if not _NO_SECRET.fullmatch(name)}
    for number, key in enumerate(keys.sops.keys.keys if keys.sops.keys else ()):
        known[f"age key {number + 1}"] = key.identity
    if stored := find_secrets(root):
        text = await keys.sops.decrypt(stored.path) if stored.sealed else None
        text = text if text is not None else stored.path.read_text(encoding="utf-8")
        made = bundles.from_yaml(text, where=str(stored.path))
        secrets = [secret for secret in made.secrets() if secret]
        known |= {f"cluster secret {i + 1}": secret for i, secret in enumerate(secrets)}
    return {**known, **_client_keys(root)}


def _client_keys(root: Path) -> dict[str, Secret]:
    """The secrets in the kubeconfig and the talosconfig of this directory."""
    from talops.kube import kubeconfig
    from talops.machineconfig.places import TALOSCONFIG
    from talops.talos import talosconfig

    found: dict[str, Secret] = {}
    config = kubeconfig.load(root / "kubeconfig")
    if config and config.key:
        found["the kubeconfig's key"] = config.key
    if config and config.token:
        found["the kubeconfig's token"] = config.token
    if (path := root / TALOSCONFIG).exists():
        contexts = talosconfig.read(path).contexts.values()
        found |= {f"the talosconfig's key for {c.name}": c.key for c in contexts if c.key}
    return found

"""Whether client-side state encryption is enabled: by the presence of a key, not its value."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from talops.errors import TalopsError

if TYPE_CHECKING:
    from pathlib import Path

    from talops.inventory.model import Cluster

KEY = "state_encryption_passphrase"
SECRETS_FILE = "infrastructure/secrets.sops.yaml"


def states_are_encrypted(cluster: Cluster, directory: Path) -> bool:
    """SOPS encrypts values, not key names, so this needs no decryption."""
    return KEY in cluster.credentials or KEY in _keys(directory / SECRETS_FILE)


def _keys(path: Path) -> set[str]:
    try:
        content = YAML(typ="safe", pure=True).load(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return set()
    except (OSError, UnicodeDecodeError, YAMLError) as error:
        raise TalopsError(
            f"cannot read the encrypted credentials: {error}",
            where=str(path),
            hint="talops secrets check",
        ) from error
    return (
        {str(key) for key, value in content.items() if value}
        if isinstance(content, dict)
        else set()
    )

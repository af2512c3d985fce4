"""`infrastructure/secrets.sops.yaml`: the credentials of talops in one flat encrypted map."""

from __future__ import annotations

import contextlib
import io
import json
import secrets
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ruamel.yaml import YAML
from ruamel.yaml.nodes import MappingNode, ScalarNode

from talops.errors import TalopsError
from talops.files import PRIVATE, write_atomic
from talops.redaction import Secret

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

    from talops.secrets.sops import Sops

FILE = Path("infrastructure/secrets.sops.yaml")
# The names that talops uses; other names are allowed.
KNOWN = (
    "proxmox_api_token_id",
    "proxmox_api_token_secret",
    "tfstate_username",
    "tfstate_password",
    "state_encryption_passphrase",
    "cf_account_id",
    "truenas_api_key",
    "cluster_age_key",
)


@dataclass(frozen=True)
class Vault:
    sops: Sops
    file: Path

    @classmethod
    def of(cls, sops: Sops) -> Vault:
        return cls(sops, sops.root / FILE)

    async def read(self) -> dict[str, Secret]:
        """Every value; none if the encrypted file does not exist yet."""
        if not self.file.exists():
            return {}
        return self._parse(await self.sops.decrypt(self.file))

    def _parse(self, text: str) -> dict[str, Secret]:
        """Values as they are written: 007 and yes stay strings."""
        root: Any = YAML(typ="safe", pure=True).compose(text)
        if root is None:
            return {}
        flat = isinstance(root, MappingNode) and all(
            isinstance(value, ScalarNode) for _, value in root.value
        )
        if not flat:
            raise TalopsError("not a flat map of names to values", where=str(self.file))
        return {key.value: Secret(value.value) for key, value in root.value}

    async def write(
        self, values: Mapping[str, Secret], *, remove: Collection[str] = ()
    ) -> list[str]:
        """Set and remove these values at once, and verify that the rest can be read; returns the
        changed names.
        """
        before = await self.read()
        changed = [name for name, value in values.items() if before.get(name) != value]
        gone = [name for name in remove if name in before]
        if not changed and not gone:
            return []
        if not self.file.exists():
            await self._create({name: values[name] for name in changed})
        else:
            with replacing(self.file) as copy:
                for name in changed:
                    await self.sops.set_value(copy, name, json.dumps(values[name].reveal()))
                for name in gone:
                    await self.sops.unset_value(copy, name)
                after = {name: value for name, value in before.items() if name not in gone}
                self._prove(await self.sops.decrypt(copy), {**after, **values})
        return [*changed, *gone]

    async def _create(self, values: Mapping[str, Secret]) -> None:
        plain = _yaml({name: value.reveal() for name, value in values.items()})
        sealed = await self.sops.encrypt(plain, self.file)
        self._prove(await self.sops.decrypt_text(sealed, self.file), values)
        write_atomic(self.file, sealed, mode=PRIVATE)

    def _prove(self, text: str, wanted: Mapping[str, Secret]) -> None:
        if self._parse(text) != wanted:
            raise TalopsError(
                "the new file does not decrypt to what was written", where=str(self.file)
            )


@contextlib.contextmanager
def replacing(file: Path) -> Iterator[Path]:
    """A working copy that atomically replaces the file if the body succeeds."""
    for leftover in file.parent.glob(f".{file.name}.*{file.suffix}"):
        leftover.unlink(missing_ok=True)
    # Same suffix: sops detects the format by it. The copy is encrypted like the original.
    copy = file.with_name(f".{file.name}.{secrets.token_hex(4)}{file.suffix}")
    try:
        shutil.copy2(file, copy)
        yield copy
        write_atomic(file, copy.read_bytes(), mode=mode_of(file))
    finally:
        copy.unlink(missing_ok=True)


def mode_of(file: Path) -> int:
    return file.stat().st_mode & 0o777


def _yaml(values: dict[str, str]) -> str:
    out = io.StringIO()
    YAML().dump(values, out)
    return out.getvalue()

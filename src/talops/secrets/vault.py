"""`infrastructure/secrets.sops.yaml`: the credentials of talops, one flat encrypted map."""

from __future__ import annotations

import contextlib
import io
import json
import secrets
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ruamel.yaml import YAML

from talops.errors import TalopsError
from talops.files import PRIVATE, write_atomic
from talops.redaction import Secret

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from talops.secrets.sops import Sops

FILE = Path("infrastructure/secrets.sops.yaml")
# The names that talops itself looks for; others may be kept here too.
KNOWN = (
    "proxmox_api_token_id",
    "proxmox_api_token_secret",
    "tfstate_username",
    "tfstate_password",
    "state_encryption_passphrase",
    "cf_account_id",
)


@dataclass(frozen=True)
class Vault:
    sops: Sops
    file: Path

    @classmethod
    def of(cls, sops: Sops) -> Vault:
        return cls(sops, sops.root / FILE)

    async def read(self) -> dict[str, Secret]:
        """Every value; an encrypted file that is not there yet holds none."""
        if not self.file.exists():
            return {}
        document = YAML(typ="safe").load(await self.sops.decrypt(self.file)) or {}
        if not isinstance(document, dict):
            raise TalopsError("this must be a flat map of names to values", where=str(self.file))
        return {str(k): Secret(str(v)) for k, v in document.items() if v is not None}

    async def write(self, values: Mapping[str, Secret]) -> list[str]:
        """Set these values and prove that they can be read; the names that changed."""
        before = await self.read()
        changed = [name for name, value in values.items() if before.get(name) != value]
        if not changed:
            return []
        if not self.file.exists():
            text = _yaml({name: values[name].reveal() for name in changed})
            write_atomic(self.file, await self.sops.encrypt(text, self.file), mode=PRIVATE)
        else:
            with replacing(self.file) as copy:
                for name in changed:
                    await self.sops.set_value(copy, name, json.dumps(values[name].reveal()))
                await self._prove(copy, {**before, **values})
        return changed

    async def _prove(self, file: Path, wanted: Mapping[str, Secret]) -> None:
        if await Vault(self.sops, file).read() != wanted:
            raise TalopsError("the new file does not read back as written", where=str(self.file))


@contextlib.contextmanager
def replacing(file: Path) -> Iterator[Path]:
    """A copy to work on; it takes the file's place in one step if the body succeeds."""
    for leftover in file.parent.glob(f".{file.name}.*{file.suffix}"):
        leftover.unlink(missing_ok=True)
    # The same suffix: sops tells the format by it. The copy is as encrypted as the original.
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

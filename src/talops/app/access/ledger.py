"""The record of granted access: one line of JSON per grant in `talos/access.jsonl`, no secrets.

It is written before the certificate is handed out, and meant to be committed.
"""

from __future__ import annotations

import getpass
import json
import socket
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from talops import inside
from talops.errors import TalopsError
from talops.machineconfig.secrets import pki

if TYPE_CHECKING:
    from pathlib import Path

    from cryptography import x509

FILE = "talos/access.jsonl"


@dataclass(frozen=True)
class Grant:
    """`ca` is the key id of the CA that signed it: after a rotation it is worth nothing."""

    name: str
    api: str
    role: str
    serial: str
    ca: str
    by: str
    at: str
    expires: str

    def state(self, now: datetime, authorities: dict[str, str]) -> str:
        """`authorities`: the key id of every accepted CA, by API and id."""
        if self.ca not in authorities:
            return "void: its CA was rotated"
        return "expired" if datetime.fromisoformat(self.expires) <= now else "valid"


def grant_of(name: str, api: str, role: str, certificate: x509.Certificate) -> Grant:
    now = datetime.now(UTC).isoformat(timespec="seconds")
    return Grant(
        name,
        api,
        role,
        f"{certificate.serial_number:x}",
        pki.issuer_id(certificate).hex(),
        f"{getpass.getuser()}@{socket.gethostname()}",
        now,
        certificate.not_valid_after_utc.isoformat(),
    )


def read(root: Path) -> list[Grant]:
    try:
        text = (root / FILE).read_text(encoding="utf-8")
    except FileNotFoundError:
        return []
    except (OSError, UnicodeDecodeError) as error:
        raise TalopsError(f"cannot be read: {error}", where=str(root / FILE)) from error
    return [_grant(line, number, root) for number, line in enumerate(text.splitlines(), 1) if line]


def add(root: Path, grant: Grant) -> None:
    """A damaged record is an error: the line before it must not be lost."""
    grants = [*read(root), grant]
    text = "".join(json.dumps(asdict(each), sort_keys=True) + "\n" for each in grants)
    inside.write(root, FILE, text)


def _grant(line: str, number: int, root: Path) -> Grant:
    try:
        found = Grant(**json.loads(line))
        datetime.fromisoformat(found.expires)
    except (ValueError, TypeError) as error:
        raise TalopsError(
            f"the record of granted access cannot be read: {error}",
            where=f"{root / FILE}:{number}",
            hint=f"correct the line, or restore the file: git checkout {FILE}",
        ) from None
    return found

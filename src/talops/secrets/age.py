"""age identities and recipients.

Keys are generated with `cryptography`, not with age-keygen: checking which key decrypts which file
requires the recipient of a key anyway, and sops remains the only tool to install.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey

from talops.errors import TalopsError
from talops.files import PRIVATE, write_atomic
from talops.redaction import Secret
from talops.secrets import bech32

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

_IDENTITY, _RECIPIENT = "age-secret-key-", "age"
# Written above the new key during a rotation, so that an interrupted one can continue. Never
# change this text: it finds a rotation that another version started.
ROTATION_MARK = "# talops: rotation to this key is under way"


@dataclass(frozen=True)
class AgeKey:
    """One X25519 identity; prints as its recipient, never as the key."""

    identity: Secret
    recipient: str

    @classmethod
    def generate(cls) -> AgeKey:
        raw = X25519PrivateKey.generate().private_bytes_raw()
        return cls.parse(bech32.encode(_IDENTITY, raw))

    @classmethod
    def parse(cls, text: str) -> AgeKey:
        """Raise ValueError, without the text, if it is not an identity."""
        prefix, raw = bech32.decode(text.strip())
        if prefix != _IDENTITY:
            raise ValueError("not an age secret key")
        public = X25519PrivateKey.from_private_bytes(raw).public_key().public_bytes_raw()
        return cls(Secret(text.strip().upper()), bech32.encode(_RECIPIENT, public))


@dataclass(frozen=True)
class KeyRing:
    """The available identities; `rotating_to` is the new one of an unfinished rotation."""

    keys: tuple[AgeKey, ...]
    rotating_to: AgeKey | None = None

    @property
    def recipients(self) -> frozenset[str]:
        return frozenset(key.recipient for key in self.keys)

    def only(self, key: AgeKey) -> KeyRing:
        return KeyRing((key,))

    def text(self) -> str:
        return "".join(entry(key, mark=key == self.rotating_to) for key in self.keys)

    def save(self, path: Path) -> None:
        write_atomic(path, self.text(), mode=PRIVATE, guarded=True)


def entry(key: AgeKey, *, mark: bool) -> str:
    """A key as the lines of a key file."""
    now = datetime.now(UTC).isoformat(timespec="seconds")
    head = f"{ROTATION_MARK}\n" if mark else ""
    return f"{head}# saved: {now}\n# public key: {key.recipient}\n{key.identity.reveal()}\n"


def parse_keys(text: str, where: str) -> KeyRing:
    """The identities of a key file in the format of age; other lines except comments are errors."""
    keys: list[AgeKey] = []
    rotating_to: AgeKey | None = None
    marked = False
    for number, line in enumerate(text.splitlines(), start=1):
        if line.strip() == ROTATION_MARK:
            marked = True
        key = _identity(line, f"{where}:{number}")
        if key is None:
            continue
        keys.append(key)
        rotating_to, marked = (key if marked else rotating_to), False
    if not keys:
        raise TalopsError("contains no age key", where=where, hint="talops secrets init")
    return KeyRing(tuple(keys), rotating_to)


def load_keys(path: Path) -> KeyRing | None:
    """None if the file does not exist; a file that cannot be read is an error."""
    try:
        return parse_keys(path.read_text(encoding="utf-8"), str(path))
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise TalopsError(f"cannot read the age key: {error}", where=str(path)) from error


def check_recipients(recipients: Iterable[str]) -> None:
    for recipient in recipients:
        try:
            prefix, raw = bech32.decode(recipient)
        except ValueError as error:
            raise TalopsError(f"{recipient!r} is not an age recipient: {error}") from None
        if prefix != _RECIPIENT or len(raw) != 32:  # noqa: PLR2004  (the size of an X25519 key)
            raise TalopsError(f"{recipient!r} is not an age recipient")


def key_of_line(line: str) -> AgeKey | None:
    """None for an empty line or a comment; ValueError, without the text, if it is not a key."""
    if not line.strip() or line.lstrip().startswith("#"):
        return None
    return AgeKey.parse(line)


def _identity(line: str, where: str) -> AgeKey | None:
    try:
        return key_of_line(line)
    except ValueError as error:
        raise TalopsError(
            f"this line is not an age secret key: {error}",
            where=where,
            hint="write one AGE-SECRET-KEY-1… per line, like age-keygen",
        ) from None

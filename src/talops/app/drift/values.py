"""Compare two machine configs leaf by leaf; a possible secret shows that it differs, never how."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from talops.machineconfig import yamltext
from talops.redaction import MASK

if TYPE_CHECKING:
    from collections.abc import Iterator

# Keys whose values, or anything below them, are secret or may be secret.
SECRET = frozenset(
    {
        *("key", "crt", "ca", "token", "secret", "bootstrapToken", "id", "content", "env"),
        *("secretboxEncryptionSecret", "aescbcEncryptionSecret", "acceptedCAs", "aggregatorCA"),
        *("serviceAccount", "password", "passphrase", "auth", "identityToken", "environment"),
        *("configPatches", "contents", "inlineManifests", "keys", "static", "privateKey"),
        # In the other config documents.
        *("cert", "issuingCA", "clusterID", "clusterSecret", "manifest", "pod", "variables"),
        *("presharedKey", "apiToken", "uniqueToken", "headers"),
    }
)
LONGEST = 60


def leaves(running: str, wanted: str) -> list[tuple[str, str, str]]:
    """(path, wanted, actual) of every leaf that differs."""
    now, then = _documents(running), _documents(wanted)
    names = dict.fromkeys([*then, *now])
    return [row for name in names for row in _compare(name, then.get(name), now.get(name))]


def _documents(text: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for document in yamltext.load_all(text, where="machine config"):
        if isinstance(document, dict):
            kind, name = document.get("kind", ""), document.get("name", "")
            found["/".join(part for part in (kind, name) if part)] = document
    return found


def _compare(path: str, wanted: Any, actual: Any) -> Iterator[tuple[str, str, str]]:
    if wanted == actual:
        return
    if isinstance(wanted, dict) and isinstance(actual, dict):
        for key in dict.fromkeys([*wanted, *actual]):
            inner = f"{path}.{key}" if path else str(key)
            if key in SECRET:
                yield from _hidden(inner, wanted.get(key), actual.get(key))
            else:
                yield from _compare(inner, wanted.get(key), actual.get(key))
        return
    yield path or "config", _text(wanted), _text(actual)


def _hidden(path: str, wanted: Any, actual: Any) -> Iterator[tuple[str, str, str]]:
    if wanted != actual:
        yield path, _mask(wanted), _mask(actual)


def _mask(value: Any) -> str:
    return "nothing" if value is None else MASK


def _text(value: Any) -> str:
    """Shortened, and masked if a mapping or list could contain a secret."""
    if value is None:
        return "nothing"
    if isinstance(value, dict | list) and not _plain(value):
        return MASK
    text = str(value)
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


def _plain(value: Any) -> bool:
    if isinstance(value, dict):
        return not (SECRET & value.keys()) and all(_plain(item) for item in value.values())
    return not isinstance(value, list) or all(_plain(item) for item in value)

"""Find plain secrets in a text; report position and kind, never the value."""

from __future__ import annotations

import base64
import binascii
import re
from typing import TYPE_CHECKING

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from talops.problems import FileProblem, Position
from talops.secrets.metadata import is_encrypted_name

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from talops.redaction import Secret

ALLOW = "talops: not a secret"
# Shorter values occur by chance in ordinary text.
SHORTEST_KNOWN = 8
WHOLE = 0

PATTERNS = {
    "an age secret key": re.compile(r"AGE-SECRET-KEY-1[0-9A-Z]{50,}"),
    "a private key": re.compile(r"-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----"),
    "a Proxmox API token": re.compile(
        r"[\w.-]+@[\w.-]+![\w.-]+=[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}"
    ),
    "a Git access token": re.compile(
        r"\b(?:gh[pousr]_[A-Za-z0-9]{36,}|github_pat_\w{22,}|glpat-[\w-]{20,})"
    ),
    "a TrueNAS API key": re.compile(
        r"(?<![\w-])\d{1,6}-(?=[0-9a-z]*[A-Z])[0-9A-Za-z]{64}(?![0-9A-Za-z])"
    ),
    "a password in a URL": re.compile(r"\w://[^/\s:@\"']+:(?![*$<{%])[^/\s@\"']+@[\w\[]"),
}
_BASE64_PEM = re.compile(r"LS0tLS1CRUdJTi[A-Za-z0-9+/=]+")
_CREDENTIAL = re.compile(
    r"^\s*(?:export\s+)?[\"']?"
    r"(proxmox_api_token_secret|tfstate_password|state_encryption_passphrase|truenas_api_key)"
    r"[\"']?\s*[:=]\s*(?P<value>.+?)\s*$",
    flags=re.IGNORECASE,
)
_SETTINGS = (".yaml", ".yml", ".tfvars", ".env", ".json", ".envrc")
# Empty, a comment, encrypted, a placeholder, or the start of a structure, as in a JSON Schema.
_EMPTY = re.compile(
    r"^[\"']?(?:|null|~|#.*|ENC\[.*|\$.*|var\..*|<.*|\{\{.*|\*+|[\[{])[\"']?,?(?:\s+#.*)?$"
)


def scan(name: str, text: str, known: Mapping[str, Secret]) -> Iterator[FileProblem]:
    """Every plain secret in an unencrypted text; `known` are values that must not appear."""
    for number, line in enumerate(text.splitlines(), start=1):
        if ALLOW in line:
            continue
        for what in _in_line(name, line, known):
            yield _plain(name, what, number)
    if name.endswith((".yaml", ".yml")):
        yield from _kubernetes_secrets(name, text)


def _in_line(name: str, line: str, known: Mapping[str, Secret]) -> Iterator[str]:
    for what, pattern in PATTERNS.items():
        if pattern.search(line):
            yield what
    if any(_holds_private_key(match[0]) for match in _BASE64_PEM.finditer(line)):
        yield "a private key in base64"
    credential = _CREDENTIAL.match(line)
    if credential and name.endswith(_SETTINGS) and not _EMPTY.match(credential["value"]):
        yield f"a value of {credential[1].lower()}"
    for title, secret in known.items():
        value = secret.reveal()
        if len(value) >= SHORTEST_KNOWN and value in line:
            yield f"the value of {title}"


def _holds_private_key(token: str) -> bool:
    try:
        return b"PRIVATE KEY" in base64.b64decode(token + "=" * (-len(token) % 4))
    except binascii.Error:
        return False


def _kubernetes_secrets(name: str, text: str) -> Iterator[FileProblem]:
    if "Secret" not in text:
        return
    try:
        documents = list(YAML(typ="safe", pure=True).load_all(text))
    except YAMLError:  # a template; its lines have been scanned
        return
    for document in documents:
        if isinstance(document, dict) and document.get("kind") == "Secret":
            title = (document.get("metadata") or {}).get("name", "?")
            values = {**(document.get("data") or {}), **(document.get("stringData") or {})}
            if any(not _EMPTY.match(str(value or "")) for value in values.values()):
                yield _plain(name, f"the Kubernetes Secret {title}", WHOLE)


def in_file(rule: str, file: str, what: str, hint: str, line: int = WHOLE) -> FileProblem:
    return FileProblem(rule, Position(file, line, WHOLE), what, hint)


def _plain(name: str, what: str, line: int) -> FileProblem:
    renamed = is_encrypted_name(name)
    hint = (
        "talops secrets edit, or sops encrypt --in-place"
        if renamed
        else (
            "move it with talops secrets import or set, and replace it: it may be in Git's history"
        )
    )
    return in_file("plain secret", name, f"{what} in plain text", hint, line)

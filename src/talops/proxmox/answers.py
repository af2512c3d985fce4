"""Error responses of Proxmox as errors of talops."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from talops.errors import (
    ConflictError,
    DeniedError,
    NotReadyError,
    TalopsError,
    UnreachableError,
)

if TYPE_CHECKING:
    import httpx

OK = 200
BAD_REQUEST, UNAUTHORIZED, FORBIDDEN, NOT_FOUND, SERVER_ERROR = 400, 401, 403, 404, 500
# Specific to Proxmox: the node behind the one that answered does not respond.
PROXY_ERRORS = range(595, 600)

_MISSING = re.compile(r"does not exist|no such|No such file or directory", re.IGNORECASE)
_TAKEN = re.compile(r"already (exists|defined)|refusing to override", re.IGNORECASE)
# A task that was started a moment ago may not be listed yet.
_LATER = re.compile(r"is locked|got timeout|can't lock file|no such task", re.IGNORECASE)
_CHECK = re.compile(r"Permission check failed \((?P<path>/\S*), (?P<privileges>[\w.|]+)\)")


class MissingError(TalopsError):
    """The requested object does not exist; Proxmox itself says so."""


class LoginError(DeniedError):
    """Proxmox rejected these credentials."""


def message_of(answer: httpx.Response) -> str:
    """The reason phrase is the message; the body lists the wrong parameters."""
    text = answer.reason_phrase.strip() or f"status {answer.status_code}"
    errors = content_of(answer).get("errors")
    if not isinstance(errors, dict):
        return text
    details = "; ".join(f"{name}: {' '.join(str(e).split())}" for name, e in errors.items())
    return f"{text} {details}".strip() if details else text


def content_of(answer: httpx.Response) -> dict[str, Any]:
    """The JSON object in the body; {} if it is something else."""
    try:
        body = answer.json()
    except (ValueError, RecursionError):
        return {}
    return body if isinstance(body, dict) else {}


def refusal(answer: httpx.Response, where: str) -> TalopsError:  # noqa: PLR0911  (one per kind)
    text, status = message_of(answer), answer.status_code
    if status == UNAUTHORIZED:
        return LoginError(
            f"Proxmox rejected these credentials: {text}",
            where=where,
            hint="check proxmox_api_token_id and proxmox_api_token_secret (talops secrets edit), "
            "or create new ones: talops host prepare --new-token",
        )
    if status == FORBIDDEN:
        return DeniedError(f"Proxmox denied the request: {text}", where=where, hint=_grant(text))
    if status in PROXY_ERRORS:
        return UnreachableError(
            f"the Proxmox node behind this address does not respond: {text}",
            where=where,
            hint="check that this node is up and a member of the cluster",
        )
    if status == NOT_FOUND or (status == SERVER_ERROR and _MISSING.search(text)):
        return MissingError(text, where=where)
    if _TAKEN.search(text):
        return ConflictError(text, where=where)
    if _LATER.search(text):
        return NotReadyError(text, where=where)
    return TalopsError(f"Proxmox answered {status}: {text}", where=where, hint="talops host check")


def _grant(text: str) -> str:
    found = _CHECK.search(text)
    if not found:
        return "talops host check names every missing privilege and the line that grants it"
    return (
        f"{found['privileges']} is missing on {found['path']}; "
        "talops host check prints the line that grants it"
    )

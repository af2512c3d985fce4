"""Translate error responses of the API server."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import httpx

from talops.errors import ConflictError, DeniedError, NotReadyError, TalopsError

if TYPE_CHECKING:
    from talops.kube.objects import Object


class NotFoundError(TalopsError):
    """The API server says that the object does not exist."""


_KINDS: dict[int, type[TalopsError]] = {
    httpx.codes.UNAUTHORIZED: DeniedError,
    httpx.codes.FORBIDDEN: DeniedError,
    httpx.codes.NOT_FOUND: NotFoundError,
    httpx.codes.CONFLICT: ConflictError,
    httpx.codes.TOO_MANY_REQUESTS: NotReadyError,
}
_HINTS: dict[int, str] = {
    httpx.codes.UNAUTHORIZED: "the certificate or token is expired or belongs to another cluster",
    httpx.codes.FORBIDDEN: "this user lacks permission; use the admin kubeconfig",
}


def check(answer: httpx.Response, about: str) -> Object:
    """The body of a successful response; raise the matching error otherwise."""
    if answer.is_success:
        return _body(answer)
    status = answer.status_code
    kind = _KINDS.get(status, NotReadyError if answer.is_server_error else TalopsError)
    raise kind(_message(answer), where=about, hint=_HINTS.get(status))


def hint_for(reason: str) -> str | None:
    """Hint for common connection errors."""
    text = reason.lower()
    if "certificate verify failed" in text or "hostname mismatch" in text:
        return "the server does not match the kubeconfig; fetch it again"
    if "alert" in text and ("certificate" in text or "unknown ca" in text):
        return "the server rejected this client certificate; fetch the kubeconfig again"
    return None


def _body(answer: httpx.Response) -> Object:
    try:
        value: Any = answer.json()
    except ValueError:
        value = None
    if not isinstance(value, dict):
        raise NotReadyError(
            "not a Kubernetes API: the response is not a JSON object", where=str(answer.url)
        )
    return value


def _message(answer: httpx.Response) -> str:
    """The server's message with its causes (such as the PodDisruptionBudget that blocks)."""
    try:
        status = answer.json()
        causes = (status.get("details") or {}).get("causes") or []
        extra = "; ".join(c["message"] for c in causes if c["message"] not in status["message"])
        return f"{status['message']} {extra}".strip()
    except (ValueError, KeyError, TypeError):
        return f"HTTP {answer.status_code}: {answer.text[:200].strip()}"

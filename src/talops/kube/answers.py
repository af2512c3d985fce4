"""What the API server's refusals mean."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import httpx

from talops.errors import ConflictError, DeniedError, NotReadyError, TalopsError

if TYPE_CHECKING:
    from talops.kube.objects import Object


class NotFoundError(TalopsError):
    """The API server answered, and there is no such thing."""


_KINDS: dict[int, type[TalopsError]] = {
    httpx.codes.UNAUTHORIZED: DeniedError,
    httpx.codes.FORBIDDEN: DeniedError,
    httpx.codes.NOT_FOUND: NotFoundError,
    httpx.codes.CONFLICT: ConflictError,
    httpx.codes.TOO_MANY_REQUESTS: NotReadyError,
}
_HINTS: dict[int, str] = {
    httpx.codes.UNAUTHORIZED: "the certificate or token is not of this cluster, or it expired",
    httpx.codes.FORBIDDEN: "this user may not do that; use the admin kubeconfig",
}


def check(answer: httpx.Response, about: str) -> Object:
    """The body of a good answer; otherwise the error that it stands for."""
    if answer.is_success:
        return _body(answer)
    status = answer.status_code
    kind = _KINDS.get(status, NotReadyError if answer.is_server_error else TalopsError)
    raise kind(_message(answer), where=about, hint=_HINTS.get(status))


def hint_for(reason: str) -> str | None:
    """Advice for the usual reasons of a missing answer."""
    text = reason.lower()
    if "certificate verify failed" in text or "hostname mismatch" in text:
        return "the server is not the one in the kubeconfig: fetch it again"
    if "alert" in text and ("certificate" in text or "unknown ca" in text):
        return "the server refuses this client certificate: fetch the kubeconfig again"
    return None


def _body(answer: httpx.Response) -> Object:
    try:
        value: Any = answer.json()
    except ValueError:
        value = None
    if not isinstance(value, dict):
        raise NotReadyError(
            "this is no Kubernetes API: the answer is no JSON object", where=str(answer.url)
        )
    return value


def _message(answer: httpx.Response) -> str:
    """The server's own words, with the causes that it adds (such as the budget in the way)."""
    try:
        status = answer.json()
        causes = (status.get("details") or {}).get("causes") or []
        extra = "; ".join(c["message"] for c in causes if c["message"] not in status["message"])
        return f"{status['message']} {extra}".strip()
    except (ValueError, KeyError, TypeError):
        return f"HTTP {answer.status_code}: {answer.text[:200].strip()}"

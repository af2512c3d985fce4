"""Translate error responses of the API server."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import httpx

from talops.errors import ConflictError, DeniedError, NotReadyError, TalopsError
from talops.kube.shapes import PAGE, wrong_object
from talops.shapes import misfit, without_nulls

if TYPE_CHECKING:
    from talops.kube.objects import Object
    from talops.shapes import Shape


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


def check(answer: httpx.Response, about: str, shape: Shape | None = None) -> Object:
    """The body of a successful response; raise the matching error otherwise."""
    if answer.is_success:
        body = _body(answer)
        if shape is not None and (wrong := misfit(body, shape)):
            raise unexpected(wrong, about)
        return body
    status = answer.status_code
    kind = _KINDS.get(status, NotReadyError if answer.is_server_error else TalopsError)
    raise kind(_message(answer), where=about, hint=_HINTS.get(status))


def check_object(answer: httpx.Response, about: str) -> Object:
    """The same for an object, whose parts are as talops reads them."""
    found = check(answer, about)
    if wrong := wrong_object(found):
        raise unexpected(wrong, about)
    return found


def check_page(answer: httpx.Response, kind: str) -> Object:
    """The same for a page of a list."""
    found = check(answer, kind, PAGE)
    for item in found.get("items", ()):
        if wrong := wrong_object(item, kind):
            raise unexpected(wrong, kind)
    return found


def unexpected(wrong: str, about: str) -> TalopsError:
    return TalopsError(
        f"not a Kubernetes API: {wrong}",
        where=about,
        hint="check the server in the kubeconfig",
    )


def hint_for(reason: str) -> str | None:
    """Hint for common connection errors."""
    text = reason.lower()
    if "certificate verify failed" in text or "hostname mismatch" in text:
        return "the server does not match the kubeconfig; fetch it again"
    if "alert" in text and ("certificate" in text or "unknown ca" in text):
        return "the server rejected this client certificate; fetch the kubeconfig again"
    return None


def _body(answer: httpx.Response) -> Object:
    value = _json(answer)
    if not isinstance(value, dict):
        raise NotReadyError(
            "not a Kubernetes API: the response is not a JSON object", where=str(answer.url)
        )
    found: Object = without_nulls(value)
    return found


def _json(answer: httpx.Response) -> Any:
    try:
        return answer.json()
    except (ValueError, RecursionError):
        return None


def _message(answer: httpx.Response) -> str:
    """The server's message with its causes (such as the PodDisruptionBudget that blocks)."""
    status = _json(answer)
    if misfit(status, {"message": str}):
        return f"HTTP {answer.status_code}: {answer.text[:200].strip()}"
    message: str = status["message"]
    shape = {"details": {"causes": [{"message": str}]}}
    causes = [] if misfit(status, shape) else status["details"]["causes"]
    extra = "; ".join(c["message"] for c in causes if c["message"] not in message)
    return f"{message} {extra}".strip()

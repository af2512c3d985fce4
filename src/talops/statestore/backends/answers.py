"""What a state server answers, checked before it is used; it may be any HTTP server."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

import httpx

from talops.errors import ConflictError, DeniedError, TalopsError, UnreachableError
from talops.shapes import Shape, misfit
from talops.statestore.backends.interface import Kept, StateInfo, held_error
from talops.statestore.model import AuditEntry

if TYPE_CHECKING:
    from collections.abc import Sequence

LOCK = {"ID": str, "Who?": str, "Operation?": str, "Created?": str}
VERSION = {"version": int, "serial": int, "lineage": str, "size": int, "md5": str}
KEPT = {**VERSION, "at": str, "who": str, "from": str, "note": str}
STATE = {"name": str, "lock?": LOCK, "current?": VERSION}
ENTRY = {"at": str, "who": str, "from": str, "action": str, "state": str, "detail": str}
BLOCK = {
    "number": int,
    "previous": str,
    "content": str,
    "hash": str,
    "signature": str,
    "valid?": bool,
}
PAGE = {"head": {"number": int, "hash": str}, "signed": bool, "blocks": [BLOCK]}


def states(answer: httpx.Response) -> Sequence[dict[str, Any]]:
    found: list[dict[str, Any]] = _document(answer, [STATE])
    return found


def info(entry: dict[str, Any], prefix: str) -> StateInfo:
    current = entry.get("current") or {}
    return StateInfo(
        entry["name"].removeprefix(prefix),
        current.get("serial"),
        current.get("lineage", ""),
        current.get("size", 0),
        current.get("md5", ""),
        entry.get("lock"),
    )


def versions(answer: httpx.Response) -> Sequence[Kept]:
    return [
        Kept(
            str(entry["version"]),
            entry["serial"],
            entry["lineage"],
            entry["size"],
            entry["md5"],
            entry["at"],
            f"{entry['who']}@{entry['from']}",
            entry["note"],
        )
        for entry in _document(answer, [KEPT])
    ]


def audit(answer: httpx.Response) -> list[AuditEntry]:
    return [
        AuditEntry(
            _moment(row["at"], answer),
            row["who"],
            row["from"],
            row["action"],
            row["state"],
            row["detail"],
        )
        for row in _document(answer, [ENTRY])
    ]


def page(answer: httpx.Response) -> dict[str, Any]:
    """A page of the audit chain, without keys that this version does not know."""
    found = _document(answer, PAGE)
    names = [key.removesuffix("?") for key in BLOCK]
    blocks = [{name: each.get(name) for name in names} for each in found["blocks"]]
    head = {"number": found["head"]["number"], "hash": found["head"]["hash"]}
    return {"head": head, "signed": found["signed"], "blocks": blocks}


def check(answer: httpx.Response, address: str) -> None:
    """Raise the error that the server answers."""
    if answer.is_success:
        return
    document = _json(answer)
    if not isinstance(document, dict):
        document = {}
    if answer.status_code in {409, 423} and document.get("ID"):
        raise held_error(address, document)
    what = f"state server: HTTP {answer.status_code}: {document.get('error', 'no reason given')}"
    hint = document.get("hint")
    hint = hint if isinstance(hint, str) else None
    if answer.status_code in {401, 403}:
        raise DeniedError(what, where=address, hint=hint)
    if answer.status_code == httpx.codes.CONFLICT:
        raise ConflictError(what, where=address, hint=hint or "to overwrite it, use --force")
    if answer.is_server_error or answer.status_code == httpx.codes.TOO_MANY_REQUESTS:
        raise UnreachableError(what, where=address, hint=hint)
    raise TalopsError(what, where=address, hint=hint)


def _document(answer: httpx.Response, shape: Shape) -> Any:
    document = _json(answer)
    if wrong := misfit(document, shape):
        raise _stranger(wrong, answer)
    return document


def _json(answer: httpx.Response) -> Any:
    try:
        return answer.json()
    except (ValueError, RecursionError):
        return None


def _moment(text: str, answer: httpx.Response) -> float:
    try:
        return datetime.fromisoformat(text).timestamp()
    except (ValueError, OverflowError, OSError):
        raise _stranger("a time of it is not a time", answer) from None


def _stranger(wrong: str, answer: httpx.Response) -> TalopsError:
    return TalopsError(
        f"this is not a talops state server: {wrong}",
        where=str(answer.url),
        hint="check state.url in cluster.yaml",
    )

"""Errors of TrueNAS: an error number with a sentence, or one error per field."""

from __future__ import annotations

import errno
from typing import Any

# Error numbers that TrueNAS adds to those of the operating system.
NOT_AUTHENTICATED = 207
_OWN = {NOT_AUTHENTICATED: "ENOTAUTHENTICATED"}


def error_name(number: int) -> str:
    return _OWN.get(number) or errno.errorcode.get(number, "EUNKNOWN")


class CallError(Exception):
    def __init__(self, message: str, number: int = errno.EFAULT) -> None:
        super().__init__(message)
        self.message = message
        self.number = number

    def __str__(self) -> str:
        return f"[{error_name(self.number)}] {self.message}"


class ValidationErrors(Exception):  # noqa: N818  (as TrueNAS calls it: a collection)
    def __init__(self, *rows: tuple[str, str, int]) -> None:
        super().__init__(rows)
        self.rows = list(rows)

    def add(self, field: str, message: str, number: int = errno.EINVAL) -> None:
        self.rows.append((field, message, number))

    def check(self) -> None:
        if self.rows:
            raise self

    def __str__(self) -> str:
        return "".join(f"[{error_name(n)}] {field}: {text}\n" for field, text, n in self.rows)


class Dropped(Exception):  # noqa: N818  (not an error: the connection just ends)
    pass


def as_rpc(error: CallError | ValidationErrors) -> dict[str, Any]:
    """The `error` member of a JSON-RPC answer."""
    if isinstance(error, CallError):
        return _member(-32001, "Method call error", error.number, str(error), None)
    rows = [list(row) for row in error.rows]
    return _member(-32602, "Invalid params", errno.EINVAL, str(error), rows)


def _member(code: int, message: str, number: int, reason: str, extra: Any) -> dict[str, Any]:
    data = {
        "error": number,
        "errname": error_name(number),
        "reason": reason,
        "trace": None,
        "extra": extra,
    }
    return {"code": code, "message": message, "data": data}


def as_rest(error: CallError | ValidationErrors) -> dict[str, Any]:
    """The body of an HTTP 422."""
    if isinstance(error, CallError):
        return {"message": error.message, "errno": error.number}
    found: dict[str, list[dict[str, Any]]] = {}
    for field, message, number in error.rows:
        found.setdefault(field, []).append({"message": message, "errno": number})
    return found

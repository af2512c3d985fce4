"""How Proxmox says no: a status, a reason phrase, and what is wrong with which parameter."""

from __future__ import annotations

from typing import Any


class PveError(Exception):
    def __init__(self, status: int, message: str, errors: dict[str, str] | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.errors = errors or {}

    def body(self) -> dict[str, Any]:
        body: dict[str, Any] = {"data": None, "message": f"{self.message}\n"}
        if self.errors:
            body["errors"] = self.errors
        return body


def failed(message: str) -> PveError:
    """Whatever dies inside a call: Proxmox answers 500 with the text."""
    return PveError(500, message)


def invalid(errors: dict[str, str]) -> PveError:
    return PveError(400, "Parameter verification failed.", errors)


def denied(what: str) -> PveError:
    return PveError(403, f"Permission check failed ({what})" if what else "Permission check failed")


def unauthorized(message: str) -> PveError:
    return PveError(401, message)


def missing_vm(node: str, vmid: int) -> PveError:
    return failed(f"Configuration file 'nodes/{node}/qemu-server/{vmid}.conf' does not exist")

"""Errors of Proxmox: a status, a reason phrase, and a message per parameter."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

MISSING_METHOD, DIED = 501, 500


class PveError(Exception):
    """`bare` ones have no body: Proxmox refused the call before it reached the API."""

    def __init__(
        self,
        status: int,
        message: str,
        errors: dict[str, str] | None = None,
        *,
        bare: bool = False,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.errors = errors or {}
        self.bare = bare

    def body(self) -> dict[str, Any]:
        end = "" if self.status == MISSING_METHOD else "\n"
        body: dict[str, Any] = {"data": None, "message": f"{self.message}{end}"}
        if self.errors:
            body["errors"] = self.errors
        return body

    def spoken(self) -> str:
        """As text inside another message: with its status, unless it comes from `die`."""
        lines = [f"{name}: {text}" for name, text in self.errors.items()]
        head = self.message if self.status == DIED else f"{self.status} {self.message}"
        return "\n".join([head, *(line.rstrip("\n") for line in lines)])


@contextmanager
def prefixed(prefix: str) -> Iterator[None]:
    """Errors inside get `prefix` before their text, and always the status 500."""
    try:
        yield
    except PveError as error:
        raise failed(f"{prefix}: {error.spoken()}") from error


def failed(message: str) -> PveError:
    """A `die` inside a call: Proxmox answers 500 with its text."""
    return PveError(500, message)


def modified() -> PveError:
    """The digest that the client read belongs to an older configuration."""
    return failed("detected modified configuration - file changed by other user? Try again.")


def invalid(errors: dict[str, str]) -> PveError:
    return PveError(400, "Parameter verification failed.", errors)


def denied(what: str) -> PveError:
    return PveError(403, f"Permission check failed ({what})" if what else "Permission check failed")


def unauthorized(message: str = "Authentication failed!") -> PveError:
    return PveError(401, message, bare=True)


def nowhere(node: str, vmid: int) -> PveError:
    """The error for a missing VM in calls that first check whether it runs."""
    return failed(f"unable to find configuration file for VM {vmid} on node '{node}'")


def missing_vm(node: str, vmid: int) -> PveError:
    return failed(f"Configuration file 'nodes/{node}/qemu-server/{vmid}.conf' does not exist")

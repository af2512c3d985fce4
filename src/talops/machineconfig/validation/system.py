"""Validate each installation and discovery document of 1.14."""

from __future__ import annotations

import base64
import binascii
from typing import TYPE_CHECKING, Any

from talops.machineconfig.validation.view import at

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    Check = Callable[[dict[str, Any]], Iterator[str]]

_SECRET_BYTES = 32


def _install(document: dict[str, Any]) -> Iterator[str]:
    if not at(document, "provisioning.diskSelector.match"):
        yield "provisioning.diskSelector.match is required"


def _identity(document: dict[str, Any]) -> Iterator[str]:
    secret = str(document.get("clusterSecret") or "")
    if not document.get("clusterID"):
        yield "clusterID is required"
    if not secret:
        yield "clusterSecret is required"
    elif not _is_secret(secret):
        yield f"invalid clusterSecret: it must be base64 of {_SECRET_BYTES} bytes"


def _is_secret(text: str) -> bool:
    try:
        return len(base64.b64decode(text, validate=True)) == _SECRET_BYTES
    except binascii.Error:
        return False


def _service(document: dict[str, Any]) -> Iterator[str]:
    if not str(document.get("endpoint") or "").startswith(("https://", "http://")):
        yield "endpoint must be an http or https address"


CHECKS: dict[str, Check] = {
    "DiscoveryIdentityConfig": _identity,
    "DiscoveryServiceConfig": _service,
    "UnattendedInstallConfig": _install,
}

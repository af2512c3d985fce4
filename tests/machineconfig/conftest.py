"""One set of throw-away secrets for all tests of a worker: an RSA key of 4096 bits is not cheap."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest

from talops.machineconfig.secrets import bundle as bundles
from talops.machineconfig.secrets import pem

if TYPE_CHECKING:
    from collections.abc import Callable

    from talops.machineconfig.secrets.bundle import Bundle

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


@pytest.fixture(scope="session")
def now() -> datetime:
    return NOW


@pytest.fixture(scope="session")
def bundle() -> Bundle:
    return bundles.generate(NOW)


@pytest.fixture(scope="session")
def masked(bundle: Bundle) -> Callable[[Any], Any]:
    """Data with every secret and certificate of the bundle replaced by its name, like `@os.key`."""
    return _replacing(_names(bundle))


@pytest.fixture(scope="session")
def unmasked(bundle: Bundle) -> Callable[[Any], Any]:
    """Data with the bundle's secrets in the place of their names."""
    return _replacing({name: value for value, name in _names(bundle).items()})


def _names(bundle: Bundle) -> dict[str, str]:
    names: dict[str, str] = {}
    for name in ("os", "k8s", "etcd", "aggregator"):
        pair = getattr(bundle, name)
        names |= {pair.crt: f"@{name}.crt", pair.key.reveal(): f"@{name}.key"}
    account = bundle.service_account.reveal()
    pems = {**names, account: "@service_account"}
    names |= {pem.from_one_line(one).decode(): f"{name} as text" for one, name in pems.items()}
    for name in (
        "cluster_secret",
        "bootstrap_token",
        "trustd_token",
        "secretbox",
        "service_account",
    ):
        names[getattr(bundle, name).reveal()] = f"@{name}"
    names[bundle.cluster_id] = "@cluster_id"
    return names


def _replacing(texts: dict[str, str]) -> Callable[[Any], Any]:
    def replaced(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: replaced(item) for key, item in value.items()}
        if isinstance(value, list):
            return [replaced(item) for item in value]
        return texts.get(value, value) if isinstance(value, str) else value

    return replaced

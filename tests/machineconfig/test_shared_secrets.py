"""Another secret than the nodes run is found, in both shapes of a config."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest

from talops.machineconfig.contract import Contract
from talops.machineconfig.generate import generate
from talops.machineconfig.request import ClusterRequest, NodeRequest
from talops.machineconfig.secrets import bundle as bundles
from talops.machineconfig.shared_secrets import AUTHORITIES, SHARED, other_secrets
from talops.redaction import Secret

if TYPE_CHECKING:
    from talops.machineconfig.secrets.bundle import Bundle

CONTRACTS = [Contract.V1_12, Contract.V1_13, Contract.V1_14]
# Field of the bundle → what the error calls it.
FIELDS = {
    "trustd_token": "machine token",
    "os": "Talos CA",
    "cluster_id": "cluster id",
    "cluster_secret": "cluster secret",
    "bootstrap_token": "bootstrap token",
    "k8s": "Kubernetes CA",
    "aggregator": "aggregator CA",
    "service_account": "service account key",
    "etcd": "etcd CA",
    "secretbox": "secretbox encryption key",
}


def config(
    bundle: Bundle, contract: Contract, *, control_plane: bool = True
) -> tuple[dict[str, Any], ...]:
    cluster = ClusterRequest("demo", contract, "https://10.5.0.10:6443", "1.36.3")
    node = NodeRequest("cp-1", control_plane=control_plane, installer="installer:v1", disk="/dev/a")
    return generate(cluster, node, bundle).documents


def names(before: tuple[dict[str, Any], ...], after: tuple[dict[str, Any], ...]) -> list[str]:
    return [found.name for found in other_secrets(before, after)]


@pytest.fixture(scope="module")
def other() -> Bundle:
    return bundles.generate(datetime.now(UTC), Contract.V1_14)


@pytest.mark.parametrize("contract", CONTRACTS)
def test_each_secret(bundle: Bundle, other: Bundle, contract: Contract) -> None:
    """One other value in the bundle, one finding; together they are the whole table but aescbc."""
    running = config(bundle, contract)
    assert names(running, running) == []
    for field, name in FIELDS.items():
        changed = replace(bundle, **{field: getattr(other, field)})
        assert names(running, config(changed, contract)) == [name]
    every = {name for name, _ in {**SHARED, **AUTHORITIES}.values()}
    assert {*FIELDS.values(), "aescbc encryption key"} == every


@pytest.mark.parametrize("contract", CONTRACTS)
def test_a_worker(bundle: Bundle, other: Bundle, contract: Contract) -> None:
    """It has fewer secrets; those that it has are compared."""
    running = config(bundle, contract, control_plane=False)
    assert names(running, config(bundle, contract, control_plane=False)) == []
    found = names(running, config(other, contract, control_plane=False))
    assert {"machine token", "Talos CA", "cluster id", "cluster secret"} <= {*found}


def test_another_contract_has_the_same_secrets(bundle: Bundle) -> None:
    """A cluster that moves to documents keeps what it has."""
    old, new = (config(bundle, contract) for contract in (Contract.V1_13, Contract.V1_14))
    assert names(old, new) == []
    assert names(new, old) == []


def test_a_key_may_be_added_and_not_removed(bundle: Bundle) -> None:
    """Talos writes with secretbox from then on, and still reads what aescbc has encrypted."""
    first = replace(bundle, secretbox=Secret(""), aescbc=bundle.secretbox)
    both = replace(bundle, aescbc=bundle.secretbox)
    one, two = config(first, Contract.V1_13), config(both, Contract.V1_13)
    assert names(one, two) == []
    assert names(two, one) == ["secretbox encryption key"]


def test_keys_of_an_administrator() -> None:
    """A key with another name is lost, too, if a later config does not have it."""

    def written(*keys: tuple[str, str]) -> tuple[dict[str, Any], ...]:
        listed = [{"name": name, "secret": secret} for name, secret in keys]
        resources = [{"providers": [{"secretbox": {"keys": listed}}, {"identity": {}}]}]
        return (
            {"machine": {"type": "controlplane"}},
            {"kind": "KubeEtcdEncryptionConfig", "config": {"resources": resources}},
        )

    running = written(("mine", "hidden"))
    assert names(running, written(("new", "b"), ("mine", "hidden"))) == []
    (lost,) = other_secrets(running, written(("mine", "c")))
    assert lost.name == "encryption key secretbox mine"
    assert "hidden" not in str(lost)

"""CAs of a running node go forward through a rotation, and never back."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

from talops.machineconfig.contract import Contract
from talops.machineconfig.generate import generate
from talops.machineconfig.request import ClusterRequest, NodeRequest
from talops.machineconfig.secrets import bundle as bundles
from talops.machineconfig.secrets import pki
from talops.machineconfig.secrets.rotating import Phase, Rotated
from talops.machineconfig.shared_secrets import other_secrets
from talops.rotation.phases import advance, begin

if TYPE_CHECKING:
    from talops.machineconfig.secrets.bundle import Bundle

NOW = datetime.now(UTC)
CLUSTER = "https://10.5.0.10:6443"
CASES = [
    (rotated, contract, plane)
    for rotated in (Rotated.TALOS_CA, Rotated.KUBERNETES_CA)
    for contract in (Contract.V1_13, Contract.V1_14)
    for plane in (True, False)
]


@pytest.fixture(scope="module")
def first() -> Bundle:
    return bundles.generate(NOW)


def rounds(first: Bundle, rotated: Rotated) -> list[Bundle]:
    """Before, accept, issue, drop."""
    found = [first, begin(first, rotated, NOW)]
    found.append(advance(found[-1], rotated))
    found.append(advance(found[-1], rotated))
    assert [b.rotations[rotated].phase for b in found[1:]] == list(Phase)
    return found


def config(bundle: Bundle, contract: Contract, *, plane: bool, patch: Any = None) -> list[Any]:
    cluster = ClusterRequest("demo", contract, CLUSTER, "1.36.3")
    node = NodeRequest("cp-1", control_plane=plane, installer="installer:v1", disk="/dev/a")
    documents = list(generate(cluster, node, bundle).documents)
    if patch:
        documents[0]["machine"].setdefault("acceptedCAs", []).append(patch)
    return documents


@pytest.mark.parametrize(("rotated", "contract", "plane"), CASES)
def test_only_the_next_phase(
    first: Bundle, rotated: Rotated, contract: Contract, plane: bool
) -> None:
    """A checkout of before, of a phase ago, or one that skips a phase is refused by name."""
    configs = [config(b, contract, plane=plane) for b in rounds(first, rotated)]
    # A worker of contract 1.14 does not know which CA of Kubernetes signs: both are accepted.
    blind = rotated is Rotated.KUBERNETES_CA and contract is Contract.V1_14 and not plane
    for now, running in enumerate(configs):
        for then, wanted in enumerate(configs):
            found = [each.path.partition(".crt")[0] for each in other_secrets(running, wanted)]
            same = blind and {now, then} == {1, 2}
            skips_accept = blind and (now, then) == (0, 2)
            skips_issue = blind and (now, then) == (1, 3)
            allowed = then in (now, now + 1) or same or skips_accept or skips_issue
            assert (not found) is allowed, (now, then, found)


def test_a_foreign_ca_may_be_accepted(first: Bundle) -> None:
    """An older CA of another name is not that of a rotation."""
    other = pki.kubernetes_ca(NOW - timedelta(days=900))
    running = config(first, Contract.V1_13, plane=True)
    wanted = config(first, Contract.V1_13, plane=True, patch={"crt": other.crt})
    assert other_secrets(running, wanted) == ()
    assert other_secrets(wanted, running) == ()


def test_a_slow_clock_makes_no_old_ca(first: Bundle) -> None:
    """The new CA starts after the old one, whatever the clock of this machine says."""
    begun = begin(first, Rotated.TALOS_CA, NOW - timedelta(days=300))
    new = begun.rotations[Rotated.TALOS_CA].other.certificate
    assert new.not_valid_before_utc > first.os.certificate.not_valid_before_utc


def test_other_secrets_stay(first: Bundle) -> None:
    """A rotation of one CA does not allow another cluster."""
    other = replace(begin(first, Rotated.TALOS_CA, NOW), k8s=pki.kubernetes_ca(NOW))
    pair = [config(bundle, Contract.V1_13, plane=True) for bundle in (first, other)]
    assert [each.name for each in other_secrets(*pair)] == ["Kubernetes CA"]

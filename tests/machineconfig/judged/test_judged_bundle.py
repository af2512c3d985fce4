"""Secrets bundles, to the real Talos library and back."""

from __future__ import annotations

from copy import deepcopy
from typing import TYPE_CHECKING, Any

import pytest
from tests.oracle.asking import RefusedError
from tests.oracle.judges import JUDGES

from talops.errors import TalopsError
from talops.machineconfig import yamltext
from talops.machineconfig.contract import Contract
from talops.machineconfig.generate import generate
from talops.machineconfig.request import ClusterRequest, NodeRequest
from talops.machineconfig.secrets import bundle as bundles

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.oracle.asking import Oracle

    from talops.machineconfig.secrets.bundle import Bundle

pytestmark = pytest.mark.slow

NODE = NodeRequest("n-1", control_plane=True, installer="installer:v1", disk="/dev/sda")


def data_of(text: str) -> Any:
    return yamltext.load(text, where="the library's bundle")


@pytest.mark.parametrize("contract", list(Contract))
def test_ours_is_read_by_talos(
    bundle: Bundle, oracle: Callable[[str], Oracle], contract: Contract
) -> None:
    """The library takes our bundle for a valid one and writes the same again."""
    judge = oracle(JUDGES[contract])
    again = judge.ask("load-bundle", bundle=bundle.to_yaml(), contract=f"v{contract}")
    assert data_of(again) == bundle.to_data()


@pytest.mark.parametrize("contract", list(Contract))
def test_talos_own_is_read_by_us(oracle: Callable[[str], Oracle], contract: Contract) -> None:
    """A bundle of `talosctl gen secrets` loses nothing on its way through talops."""
    text = oracle(JUDGES[contract]).ask("new-bundle", contract=f"v{contract}")
    assert bundles.from_yaml(text, where="theirs").to_data() == data_of(text)


@pytest.mark.parametrize("contract", list(Contract))
def test_taken_from_a_config(
    bundle: Bundle, oracle: Callable[[str], Oracle], contract: Contract
) -> None:
    """Either side finds the bundle in a control plane's config, whichever side wrote that."""
    judge = oracle(JUDGES[contract])
    cluster = ClusterRequest("demo", contract, "https://10.5.0.10:6443", "1.35.2")
    ours = generate(cluster, NODE, bundle)
    assert data_of(judge.ask("bundle-from-config", config=ours.to_yaml())) == bundle.to_data()
    theirs = judge.ask(
        "generate",
        cluster=cluster.name,
        endpoint=cluster.endpoint,
        kubernetes=cluster.kubernetes_version,
        contract=f"v{contract}",
        bundle=bundle.to_yaml(),
        install_disk="/dev/sda",
    )
    assert bundles.from_machine_config(theirs["controlplane"], where="theirs") == bundle


LOST = [
    *("cluster.id", "cluster.secret", "secrets.bootstraptoken", "trustdinfo.token"),
    *(f"certs.{name}.crt" for name in ("etcd", "k8s", "k8saggregator", "os")),
    *(f"certs.{name}.key" for name in ("etcd", "k8s", "k8saggregator", "os")),
    "certs.k8sserviceaccount.key",
    "secrets.secretboxencryptionsecret",
]


@pytest.mark.parametrize("lost", LOST)
def test_incomplete_bundle(bundle: Bundle, oracle: Callable[[str], Oracle], lost: str) -> None:
    """A bundle that lost any one value is refused by both."""
    data = deepcopy(bundle.to_data())
    *way, last = lost.split(".")
    section = data
    for part in way:
        section = section[part]
    del section[last]
    text = yamltext.dump(data)
    with pytest.raises(RefusedError):
        oracle("1.13").ask("load-bundle", bundle=text, contract="v1.13")
    with pytest.raises(TalopsError):
        bundles.from_yaml(text, where="damaged")

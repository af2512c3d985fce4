"""What other tools start from, against the generator of the real Talos library."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.oracle.judges import JUDGES

from talops.importing.base import Base
from talops.importing.comparison import differing_leaves
from talops.machineconfig.contract import Contract

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.oracle.asking import Oracle

    from talops.machineconfig.secrets.bundle import Bundle

IMAGE = "factory.talos.dev/metal-installer/abc:v1.13.9"


@pytest.mark.parametrize("contract", list(Contract))
@pytest.mark.parametrize("controller", [True, False])
def test_the_base_is_what_talos_generates(
    oracle: Callable[[str], Oracle], bundle: Bundle, contract: Contract, controller: bool
) -> None:
    """Source: `generate.NewInput` of the library of that version, which talosctl, talhelper, topf
    and the Terraform provider call.
    """
    base = Base(
        "demo",
        "https://api.example.com:6443",
        contract,
        "v1.35.2",
        bundle,
        sans=("10.0.0.10",),
        machine_sans=("10.0.0.10",),
        dns_domain="demo.local",
        pod_subnets=("10.42.0.0/16",),
        service_subnets=("10.43.0.0/16",),
        schedule_on_control_planes=True,
    )
    made = oracle(JUDGES[contract]).ask(
        "generate",
        cluster=base.name,
        endpoint=base.endpoint,
        kubernetes="1.35.2",
        contract=f"v{contract}",
        bundle=bundle.to_yaml(),
        install_disk="/dev/vda",
        install_image=IMAGE,
        sans=list(base.sans),
        dns_domain=base.dns_domain,
        pod_subnets=list(base.pod_subnets),
        service_subnets=list(base.service_subnets),
        allow_scheduling=True,
    )
    role = "controlplane" if controller else "worker"
    ours = base.documents(controller=controller, installer=IMAGE, disk="/dev/vda")
    assert list(differing_leaves(made[role], ours)) == []

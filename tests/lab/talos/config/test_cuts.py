"""Which configs make a node unreachable in the lab.

Fields as in Talos' LinkConfig, NetworkDefaultActionConfig and NetworkRuleConfig.
"""

from __future__ import annotations

from typing import Any

import pytest
from tests.lab.talos.cluster_files import to_yaml

from talops.lab.talos.config.cuts import cut_by
from talops.lab.talos.config.decoding import decode

MAC, ADDRESS = "bc:24:11:00:00:01", "127.1.2.3"


def document(kind: str, **fields: Any) -> dict[str, Any]:
    return {"apiVersion": "v1alpha1", "kind": kind, **fields}


def link(**fields: Any) -> dict[str, Any]:
    return document("LinkConfig", name="eth0", **fields)


def rule(*ports: Any) -> dict[str, Any]:
    selector = {"ports": list(ports), "protocol": "tcp"}
    senders = [{"subnet": "127.0.0.0/8"}]
    return document("NetworkRuleConfig", name="api", portSelector=selector, ingress=senders)


OWN = link(addresses=[{"address": f"{ADDRESS}/24"}])
BLOCK = document("NetworkDefaultActionConfig", ingress="block")


@pytest.mark.parametrize(
    ("documents", "elsewhere", "reason"),
    [
        ([OWN], [], ""),
        ([], [ADDRESS], ""),
        ([], [], f"it does not have the address {ADDRESS} any more"),
        ([link(addresses=[{"address": "127.1.2.9/24"}])], [], "does not have the address"),
        ([link(addresses=[{"address": "127.1.2.9/24"}])], [ADDRESS], ""),
        ([link(up=False)], [ADDRESS], "its link is down"),
        ([OWN, BLOCK], [], "its firewall blocks port 50000"),
        ([OWN, BLOCK, rule(6443)], [], "its firewall blocks port 50000"),
        ([OWN, BLOCK, rule(50000)], [], ""),
        ([OWN, BLOCK, rule("49000-51000")], [], ""),
        ([OWN, document("NetworkDefaultActionConfig", ingress="accept")], [], ""),
    ],
)
def test_cuts(documents: list[dict[str, Any]], elsewhere: list[str], reason: str) -> None:
    """Addresses of a cloud-init drive stay, whatever the config says."""
    config = decode(to_yaml(documents), minor=13)
    found = cut_by(config, (MAC,), ADDRESS, elsewhere=elsewhere)
    assert reason in found
    assert bool(found) is bool(reason)

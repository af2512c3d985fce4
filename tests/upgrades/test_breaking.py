"""What a release breaks, read off the configs of nodes."""

from __future__ import annotations

from typing import Any

import pytest

from talops.upgrades.breaking import Move, findings

GRUB = "machine: {install: {extraKernelArgs: [nomodeset, -console]}}\n"
OLD_ETCD = "cluster: {etcd: {image: 'registry.k8s.io/etcd:v3.5.21'}}\n"
TLS = "cluster: {apiServer: {extraArgs: {tls-min-version: VersionTLS12}}}\n"
FIREWALL = "machine: {type: controlplane}\n---\napiVersion: v1alpha1\nkind: NetworkRuleConfig\n"


def move(config: str, before: str = "v1.13.9", to: str = "v1.14.1", **more: Any) -> Move:
    return Move("cp-1", before, to, config, **{"controller": True, **more})


# What the node runs and what is found: part of the text and whether it refuses the upgrade.
CASES = {
    "arguments that are in use": (
        move(GRUB, cmdline=frozenset({"nomodeset", "quiet"})),
        [("without these kernel arguments: nomodeset", True)],
    ),
    "arguments that the boot loader ignores already": (move(GRUB, cmdline=frozenset()), []),
    "the older call keeps them": (
        move(GRUB, "v1.12.1", "v1.12.11", cmdline=frozenset({"nomodeset"})),
        [],
    ),
    "an old etcd": (move(OLD_ETCD), [("requires etcd 3.6", True)]),
    "an old etcd on a worker": (move(OLD_ETCD, controller=False), []),
    "an old etcd that stays on 1.13": (move(OLD_ETCD, "v1.12.6", "v1.13.9"), []),
    "a new etcd": (move(OLD_ETCD.replace("3.5.21", "3.6.4")), []),
    "two hops at once": (move(OLD_ETCD, "v1.12.6", "v1.14.1"), [("requires etcd 3.6", True)]),
    "TLS flags": (move(TLS), [("tls-min-version has no effect", False)]),
    "a firewall": (move(FIREWALL), [("port 2383 instead of 2379", False)]),
    "nothing special": (move("machine: {type: controlplane}\n"), []),
    "a patch release of 1.14": (move(TLS + FIREWALL, "v1.14.0", "v1.14.1"), []),
}


@pytest.mark.parametrize("case", CASES)
def test_findings(case: str) -> None:
    """Each with the next step, and refused only if the node would be broken."""
    node, expected = CASES[case]
    found = findings(node)
    assert [each.refuses for each in found] == [refuses for _, refuses in expected]
    for each, (text, _) in zip(found, expected, strict=True):
        assert text in each.what
        assert each.hint

"""Machine configs by the thousand, and the secrets that they share."""

from __future__ import annotations

import statistics
import time
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from tests.bench.figure import Figure

from talops.machineconfig.contract import Contract
from talops.machineconfig.generate import generate
from talops.machineconfig.patches.reading import parse_patch
from talops.machineconfig.request import ClusterRequest, NodeRequest
from talops.machineconfig.secrets import bundle as bundles
from talops.machineconfig.validation import find_problems

if TYPE_CHECKING:
    from collections.abc import Iterator

NODES = 1000
BUNDLES = 15
PATCH = """\
machine:
  sysctls: {vm.nr_hugepages: "1024"}
  kubelet:
    extraConfig: {maxPods: 250}
---
apiVersion: v1alpha1
kind: ResolverConfig
searchDomains: {domains: [example.org]}
"""


def figures() -> Iterator[Figure]:
    now = datetime.now(UTC)
    spent = []
    for _ in range(BUNDLES):
        started = time.perf_counter()
        bundle = bundles.generate(now)
        spent.append(time.perf_counter() - started)
    # Finding two large primes is a matter of luck: one may take four times as long as another.
    yield Figure(f"one secrets bundle, median of {BUNDLES}", statistics.median(spent), "s", 2)
    patches = (parse_patch(PATCH, where="bench"),)
    cluster = ClusterRequest(
        "large",
        Contract.V1_13,
        "https://10.0.0.10:6443",
        "1.36.3",
        vip="10.0.0.10",
        gateway="10.0.0.1",
        dns=("10.0.0.2",),
        ntp=("10.0.0.3",),
        patches=patches,
    )
    for role, control_plane in (("control planes", True), ("workers", False)):
        node = NodeRequest("n", control_plane, "installer:v1", "/dev/sda", mac="02:00:00:00:00:01")
        started = time.perf_counter()
        for index in range(NODES):
            name, address = f"node-{index}", f"10.0.{index // 250}.{index % 250 + 1}/16"
            config = generate(
                cluster, replace(node, name=name, hostname=name, address=address), bundle
            )
            assert not find_problems(config.documents, cluster.contract)
            config.to_yaml()
        each = (time.perf_counter() - started) / NODES * 1000
        yield Figure(f"one config of {NODES} {role}: made, checked, written", each, "ms", bound=10)

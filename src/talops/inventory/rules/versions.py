"""Talos, Kubernetes, template and contract versions must be compatible."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from talops.inventory import support
from talops.inventory.rules import rule
from talops.problems import Severity

if TYPE_CHECKING:
    from collections.abc import Iterator

    from talops.inventory.parse import Inventory
    from talops.inventory.rules import Violation

TEMPLATE = re.compile(r"talos-v(\d+\.\d+\.\d+(?:-(?:alpha|beta|rc)\.\d+)?)-base")


@rule("version-support")
def talos_known(inv: Inventory) -> Iterator[Violation]:
    version = inv.cluster.talos_version
    if version and (
        support.parts(version)[0] != 1 or support.minor(version) not in support.KUBERNETES
    ):
        oldest, newest = min(support.KUBERNETES), max(support.KUBERNETES)
        yield (
            inv.at.cluster_value("talos_version"),
            f"Talos {version} is not supported",
            f"use a release from v1.{oldest} to v1.{newest}",
        )


@rule("version-support")
def kubernetes_fits(inv: Inventory) -> Iterator[Violation]:
    talos, kubernetes = inv.cluster.talos_version, inv.cluster.kubernetes_version
    if not talos or not kubernetes or support.minor(talos) not in support.KUBERNETES:
        return
    oldest, newest = support.KUBERNETES[support.minor(talos)]
    major, minor, _ = support.parts(kubernetes)
    if major != 1 or not oldest <= minor <= newest:
        yield (
            inv.at.cluster_value("kubernetes_version"),
            f"Talos {talos} does not support Kubernetes {kubernetes}",
            f"use v1.{oldest} to v1.{newest}, or another talos_version",
        )


@rule("kubernetes-untested", Severity.WARNING)
def kubernetes_tested(inv: Inventory) -> Iterator[Violation]:
    talos, kubernetes = inv.cluster.talos_version, inv.cluster.kubernetes_version
    if not talos or not kubernetes:
        return
    taken = support.KUBERNETES.get(support.minor(talos))
    tested = support.OLDEST_TESTED.get(support.minor(talos))
    if taken and tested and taken[0] <= support.minor(kubernetes) < tested:
        yield (
            inv.at.cluster_value("kubernetes_version"),
            f"Kubernetes {kubernetes} is not in the support matrix of Talos {talos}",
            f"use v1.{tested} to v1.{taken[1]}",
        )


@rule("withdrawn-talos")
def talos_withdrawn(inv: Inventory) -> Iterator[Violation]:
    version = inv.cluster.talos_version
    if version in support.WITHDRAWN:
        yield (
            inv.at.cluster_value("talos_version"),
            f"do not use Talos {version}: {support.WITHDRAWN[version]}",
            f"use {support.NEWEST_RELEASE[support.minor(version)]}",
        )


@rule("old-talos", Severity.WARNING)
def configurable(inv: Inventory) -> Iterator[Violation]:
    version = inv.cluster.talos_version
    if version and support.parts(version) < (1, support.OLDEST_CONFIGURABLE):
        yield (
            inv.at.cluster_value("talos_version"),
            (
                f"{version} is older than v1.{support.OLDEST_CONFIGURABLE}, "
                "the first version for which talops writes machine configs"
            ),
            "talops can create VMs, but not configure nodes: use a newer talos_version",
        )


@rule("contract")
def contract_known(inv: Inventory) -> Iterator[Violation]:
    contract, talos = inv.cluster.talos_contract, inv.cluster.talos_version
    if not contract:
        return
    if contract not in support.CONTRACTS:
        yield (
            inv.at.cluster_value("talos_contract"),
            f"contract {contract!r} is not supported",
            f"use one of {', '.join(support.CONTRACTS)}",
        )
    elif talos and support.minor(f"{contract}.0") > support.minor(talos):
        yield (
            inv.at.cluster_value("talos_contract"),
            f"Talos {talos} cannot read configs of contract {contract}",
            f"use {support.default_contract(talos)}",
        )


@rule("template-name")
def template_named(inv: Inventory) -> Iterator[Violation]:
    name, talos = inv.cluster.template_name, inv.cluster.talos_version
    if not name:
        return
    place = inv.at.cluster_value("template_name")
    found = TEMPLATE.fullmatch(name)
    if not found:
        yield place, f"{name!r} is not a template name", "write talos-v<version>-base"
    elif talos and f"v{found[1]}" != talos:
        yield (
            place,
            f"{name} contains Talos v{found[1]}, but talos_version is {talos}",
            f"use talos-{talos}-base (talops template build), or talos_version: v{found[1]}",
        )


@rule("template-boot")
def template_given(inv: Inventory) -> Iterator[Violation]:
    file = inv.cluster
    if file.boot == "template" and not inv.at.gives("template_vm_id"):
        yield (
            inv.at.cluster_value("boot"),
            "boot: template requires template_vm_id",
            "add template_vm_id: 9000 (and template_name)",
        )

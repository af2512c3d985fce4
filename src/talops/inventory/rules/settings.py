"""State, patches, repository and other settings."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from talops.inventory.rules import rule
from talops.problems import Severity

if TYPE_CHECKING:
    from collections.abc import Iterator

    from talops.inventory.parse import Inventory
    from talops.inventory.rules import Violation

STATE_NEEDS = {"http": ("url",), "s3": ("bucket",), "local": ()}
STATE_OWN = {
    "http": {"url", "ca_file"},
    "s3": {"bucket", "region", "endpoint", "prefix", "ca_file"},
    "local": {"backups", "backup_days"},
}


@rule("state-settings")
def state_settings(inv: Inventory) -> Iterator[Violation]:
    state = inv.cluster.state
    if not state:
        return
    for key in STATE_NEEDS[state.type]:
        if getattr(state, key) is None:
            example = "https://state.example/home" if key == "url" else "my-states"
            yield (
                inv.at.cluster_value("state"),
                f"state of type {state.type} requires {key}",
                f"write state: {{type: {state.type}, {key}: {example}}}",
            )
    for key in sorted(state.model_fields_set - STATE_OWN[state.type] - {"type"}):
        yield (
            inv.at.cluster_key("state", key),
            f"{key} is not valid for state of type {state.type}",
            "remove it, or change the type",
        )


@rule("s3-plain-http", Severity.WARNING)
def s3_in_plain_text(inv: Inventory) -> Iterator[Violation]:
    state = inv.cluster.state
    if state and state.endpoint and state.endpoint.startswith("http:"):
        yield (
            inv.at.cluster_value("state", "endpoint"),
            "states go to this endpoint unencrypted, and a state holds secrets",
            "use https with ca_file, or set state_encryption_passphrase (talops secrets init)",
        )


@rule("s3-endpoint")
def s3_reachable(inv: Inventory) -> Iterator[Violation]:
    state = inv.cluster.state
    if state and state.type == "s3" and not (state.endpoint or state.region):
        if inv.at.gives("cf_account_id"):
            return
        yield (
            inv.at.cluster_value("state"),
            "s3 state has neither a region nor an endpoint",
            (
                "set region: eu-central-1 (AWS), endpoint: https://… (MinIO, Garage), "
                "or region: auto with cf_account_id (R2)"
            ),
        )


@rule("repository-name")
def repository(inv: Inventory) -> Iterator[Violation]:
    name = inv.cluster.repository_name
    if name and not re.fullmatch(r"[\w.-]+/[\w.-]+", name):
        yield (
            inv.at.cluster_value("repository_name"),
            f"{name!r} is not a repository name",
            "write owner/name",
        )


@rule("gitops-settings")
def gitops_settings(inv: Inventory) -> Iterator[Violation]:
    """Settings that no stage uses, or that contradict each other."""
    given = inv.cluster.gitops
    if given is None:
        return
    if inv.cluster.repository_name is None:
        yield (
            inv.at.cluster_key("gitops"),
            "gitops is set, but repository_name is missing",
            "add repository_name: owner/name",
        )
    if given.url and given.credentials:
        wanted = "deploy-key" if given.url.startswith("ssh://") else "token"
        if given.credentials != wanted:
            yield (
                inv.at.cluster_key("gitops", "credentials"),
                f"credentials: {given.credentials} does not work with {given.url}",
                f"write credentials: {wanted}, or change the url",
            )


@rule("cni-values")
def cni_values(inv: Inventory) -> Iterator[Violation]:
    cni = inv.cluster.cni
    if cni and cni.values and cni.name != "cilium":
        yield (
            inv.at.cluster_key("cni", "values"),
            f"values are for cilium, but the plugin is {cni.name}",
            "remove values, or set name: cilium",
        )
    if cni and not cni.kube_proxy and cni.name == "flannel":
        yield (
            inv.at.cluster_key("cni", "kube_proxy"),
            "flannel does not replace kube-proxy",
            "set kube_proxy: true",
        )

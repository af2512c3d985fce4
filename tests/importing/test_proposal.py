"""From whole configs to an inventory that renders exactly these configs."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from tests.examples import EXAMPLES
from tests.oracle.judges import differences

from talops.errors import PreflightError
from talops.importing.comparison import Effect, of_configs, summary
from talops.importing.proposal import propose

if TYPE_CHECKING:
    from collections.abc import Callable

    from talops.importing.model import Document, FoundCluster

    Found = Callable[[str], FoundCluster]


@pytest.mark.parametrize("name", sorted(path.name for path in EXAMPLES.iterdir()))
def test_examples_are_found_again(found: Found, name: str) -> None:
    """Any config becomes keys and patches that render the same config."""
    cluster = found(name)
    proposal = propose(cluster)
    assert proposal.differences == ()
    assert summary(proposal.differences) == "0 differences"
    for node in cluster.nodes:
        ours = proposal.configs[node.name].documents
        assert differences(node.documents, ours) == {}


def changed(found: FoundCluster, change: Callable[[Document], Any]) -> FoundCluster:
    """The same cluster with another main document on every node."""
    import copy

    nodes = []
    for node in found.nodes:
        documents = copy.deepcopy(node.documents)
        change(next(d for d in documents if "machine" in d))
        nodes.append(replace(node, documents=documents))
    return replace(found, nodes=tuple(nodes))


def test_settings_without_a_key_become_patches(found: Found) -> None:
    """A setting of all nodes is written once, one that does not exist is deleted."""

    def change(main: Document) -> None:
        main["machine"]["sysctls"] = {"vm.nr_hugepages": "512"}
        del main["machine"]["features"]

    proposal = propose(changed(found("bare-metal"), change))
    assert proposal.differences == ()
    assert [file.path for file in proposal.patches.files] == ["talos/patches/imported.yaml"]
    [removed, written] = proposal.patches.files[0].documents
    assert removed == {"machine": {"features": {"$patch": "delete"}}}
    assert written == {"machine": {"sysctls": {"vm.nr_hugepages": "512"}}}
    assert "talos/patches/imported.yaml" in proposal.cluster_text


def test_secrets_of_patches_are_sealed(found: Found) -> None:
    """What a source kept encrypted, and what is a password by its name, gets a file of its own."""

    def change(main: Document) -> None:
        main["machine"]["env"] = {"REGION": "north", "TOKEN_OF_PROXY": "from-sops"}
        auth = {"username": "me", "password": "hidden"}
        main["machine"]["registries"] = {"config": {"example.com": {"auth": auth}}}

    cluster = changed(found("bare-metal"), change)
    proposal = propose(replace(cluster, secret_values=frozenset({"from-sops"})))
    assert proposal.differences == ()
    texts = {file.path: file.text("") for file in proposal.patches.files}
    plain, sealed = texts["talos/patches/imported.yaml"], texts["talos/patches/imported.sops.yaml"]
    assert "north" in plain
    assert "hidden" in sealed
    assert "from-sops" in sealed
    assert "hidden" not in plain
    assert "from-sops" not in plain
    assert [f.sealed for f in proposal.patches.files] == [False, True]


def test_what_a_node_derives_stays_with_the_node(found: Found) -> None:
    """A node that is added later must still get its host name and its address."""
    cluster = found("bare-metal")
    nodes = tuple(
        replace(
            node,
            documents=tuple(d for d in node.documents if d.get("kind") != "HostnameConfig"),
        )
        for node in cluster.nodes
    )
    proposal = propose(replace(cluster, nodes=nodes))
    assert proposal.differences == ()
    assert proposal.patches.everyone == ()
    assert set(proposal.patches.nodes) == {node.name for node in cluster.nodes}


def test_differences_say_when_they_take_effect(found: Found) -> None:
    """The effect is that of the Talos version: 1.13 reboots for what it cannot change live."""
    node = found("bare-metal").nodes[0]
    [main] = [d for d in node.documents if "machine" in d]
    other = {**main, "machine": {**main["machine"], "files": [{"path": "/var/x", "content": "1"}]}}
    other["machine"]["sysctls"] = {"vm.nr_hugepages": "512"}
    rest = [d for d in node.documents if d is not main]
    changes = of_configs("n", node.documents, [other, *rest], "v1.13.9")
    assert {d.path: d.effect for d in changes} == {
        "machine.files": Effect.REBOOT,
        "machine.sysctls": Effect.LIVE,
    }


def test_a_missing_key_is_asked_for(found: Found) -> None:
    """Without a MAC address, a bare-metal node cannot be an entry; the user can say it."""
    cluster = found("bare-metal")
    kinds = {"LinkAliasConfig", "LinkConfig"}
    nodes = tuple(
        replace(node, documents=tuple(d for d in node.documents if d.get("kind") not in kinds))
        for node in cluster.nodes
    )
    cluster = replace(cluster, nodes=nodes)
    with pytest.raises(PreflightError, match="mac_addr"):
        propose(cluster)
    given = {f"{node.name}.mac_addr": f"aa:bb:cc:00:00:0{i}" for i, node in enumerate(nodes)}
    assert propose(cluster, given).differences == ()


def test_values_that_no_key_allows_become_patches(found: Found) -> None:
    """An MTU above the limit of nodes.yaml is carried over as it is."""
    cluster = found("bare-metal")
    nodes = []
    for node in cluster.nodes:
        links = [{**d, "mtu": 12000} for d in node.documents if d.get("kind") == "LinkConfig"]
        rest = [d for d in node.documents if d.get("kind") != "LinkConfig"]
        nodes.append(replace(node, documents=(*rest, *links)))
    proposal = propose(replace(cluster, nodes=tuple(nodes)))
    assert proposal.differences == ()
    assert "mtu" not in proposal.nodes_text
    assert {name for name, files in proposal.patches.nodes.items() if files} == {
        node.name for node in nodes
    }


@pytest.mark.parametrize(
    ("keys", "value"),
    [
        (["cluster", "inlineManifests"], [{"name": "a", "contents": "kind: Secret\ndata: {a: x}"}]),
        (["cluster", "inlineManifests"], [{"name": "a", "contents": "a: b\npassword: hunter2\n"}]),
        (["machine", "files"], [{"path": "/var/x", "content": "-----BEGIN PRIVATE KEY-----\nx"}]),
        (["machine", "env"], {"https_proxy": "http://me:hunter2@proxy:3128"}),
        (["machine", "env"], {"AWS_SECRET_ACCESS_KEY": "hunter2"}),
        (["machine", "sysctls"], {"a": "AGE-SECRET-KEY-1QQQQ"}),
    ],
)
def test_secrets_that_no_name_tells(found: Found, keys: list[str], value: Any) -> None:
    """In manifests, files, URLs and variables: encrypted too, for the inventory is committed."""

    def change(main: Document) -> None:
        main[keys[0]][keys[1]] = value

    proposal = propose(changed(found("bare-metal"), change))
    assert proposal.differences == ()
    assert [file.sealed for file in proposal.patches.files] == [True]

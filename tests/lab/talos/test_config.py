"""Configs that a node refuses, with Talos' words, and what it reads out of those it takes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from tests.lab.talos.cluster_files import ClusterFiles, to_yaml

from talops.lab.machine import Disk, Machine
from talops.lab.talos.config.changes import difference, needs_reboot
from talops.lab.talos.config.decoding import BadConfigError, decode
from talops.lab.talos.config.document import image_tag, link_addresses
from talops.lab.talos.config.validation import validate
from talops.lab.talos.machine.disks import block_devices, choose

if TYPE_CHECKING:
    from collections.abc import Callable

FILES = ClusterFiles("https://127.0.0.1:6443")
HOSTNAME = {"apiVersion": "v1alpha1", "kind": "HostnameConfig", "hostname": "b", "auto": "off"}


def one_error(text: str) -> str:
    return f"1 error occurred:\n\t* v1alpha1.Config: 1 error occurred:\n\t* {text}\n\n\n\n"


def drop(*path: str) -> Callable[[dict[str, Any]], None]:
    def edit(config: dict[str, Any]) -> None:
        for part in path[:-1]:
            config = config[part]
        del config[path[-1]]

    return edit


def put(value: Any, *path: str) -> Callable[[dict[str, Any]], None]:
    def edit(config: dict[str, Any]) -> None:
        for part in path[:-1]:
            config = config.setdefault(part, {})
        config[path[-1]] = value

    return edit


@pytest.mark.parametrize(
    ("kind", "edit", "text"),
    [
        (
            "worker",
            put(1, "machine", "bogusField"),
            (
                "error decoding document /v1alpha1/ (line 1): unknown keys found during decoding:\n"
                "machine:\n    bogusField: 1\n"
            ),
        ),
        (
            "worker",
            drop("machine", "install", "disk"),
            one_error("either install disk or diskSelector should be defined"),
        ),
        (
            "worker",
            put("a2V5Cg==", "machine", "ca", "key"),
            one_error(
                "issuing Talos API CA key is not allowed on non-controlplane nodes (.machine.ca)"
            ),
        ),
        (
            "controlplane",
            put("", "machine", "ca", "key"),
            one_error("issuing CA key is required for controlplane nodes (.machine.ca.key)"),
        ),
        ("worker", put("nope", "machine", "type"), one_error('unknown machine type "nope"')),
        ("worker", drop("machine"), one_error("machine instructions are required")),
        (
            "worker",
            drop("cluster", "controlPlane"),
            one_error("cluster controlplane endpoint is required"),
        ),
        (
            "worker",
            put("a", "machine", "network", "hostname"),
            "1 error occurred:\n\t* static hostname is already set in v1alpha1 config\n\n",
        ),
    ],
)
def test_bad_configs_are_refused_in_talos_words(
    kind: str, edit: Callable[[dict[str, Any]], None], text: str
) -> None:
    """Every problem gives exactly the text that the real validator gives."""
    documents = FILES.documents(kind, "a")
    edit(documents[0])
    with pytest.raises(BadConfigError) as refused:
        validate(decode(to_yaml(documents), minor=13), must_install=True)
    assert str(refused.value) == text


def test_documents_are_refused_with_their_line() -> None:
    """An unknown kind and a second document of one name are found where they stand."""
    config = FILES.config("worker", "a")
    last = config.decode().count("\n") + 2
    unknown = config + b"---\napiVersion: v1alpha1\nkind: NoSuchConfig\n"
    with pytest.raises(BadConfigError) as refused:
        decode(unknown, minor=13)
    assert str(refused.value) == (
        f"error decoding document v1alpha1/NoSuchConfig/ (line {last}):"
        ' "NoSuchConfig" "v1alpha1": not registered'
    )
    twice = config + b"---\napiVersion: v1alpha1\nkind: HostnameConfig\nhostname: b\n"
    with pytest.raises(BadConfigError) as refused:
        decode(twice, minor=13)
    assert (
        str(refused.value)
        == f"duplicate document v1alpha1/HostnameConfig/ is not allowed (line {last})"
    )


def test_broken_yaml_is_refused() -> None:
    """What is not YAML is a decode error."""
    with pytest.raises(BadConfigError, match=r"^decode error: yaml: "):
        decode(b"machine: {", minor=13)


def test_newer_documents_are_unknown_to_older_nodes() -> None:
    """A 1.12 node does not know KubeSpanConfig, a 1.13 node does."""
    config = FILES.config("worker", "a") + b"---\napiVersion: v1alpha1\nkind: KubeSpanConfig\n"
    assert decode(config, minor=13).documents
    with pytest.raises(BadConfigError, match="not registered"):
        decode(config, minor=12)


@pytest.mark.parametrize(
    ("edit", "reboots"),
    [
        (put({"a": "b"}, "machine", "nodeLabels"), False),
        (put("x", "machine", "install", "image"), False),
        (put("other", "cluster", "clusterName"), False),
        (put({"net.core.x": "1"}, "machine", "sysctls"), False),
        (put({"enabled": True}, "machine", "features", "kubePrism"), False),
        (put([{"path": "/var/x"}], "machine", "files"), True),
        (put(True, "machine", "features", "diskQuotaSupport"), True),
        (put("init", "machine", "type"), True),
    ],
)
def test_which_changes_reboot(edit: Callable[[dict[str, Any]], None], reboots: bool) -> None:
    """Only what a running node cannot take over needs a reboot."""
    documents = FILES.documents("controlplane", "a")
    before = decode(to_yaml(documents), minor=13)
    edit(documents[0])
    after = decode(to_yaml(documents), minor=13)
    assert needs_reboot(before, after) is reboots
    assert difference(before, after)
    assert not difference(before, before)


def test_addresses_count_only_on_links_that_exist() -> None:
    """A link is chosen by its MAC; a config for another machine gives no address."""
    mac = "bc:24:11:00:00:01"
    documents = [
        *FILES.documents("worker", "a"),
        {
            "apiVersion": "v1alpha1",
            "kind": "LinkAliasConfig",
            "name": "net0",
            "selector": {"match": f'mac(link.permanent_addr) == "{mac}"'},
        },
        {
            "apiVersion": "v1alpha1",
            "kind": "VLANConfig",
            "name": "net0.20",
            "parent": "net0",
            "vlanID": 20,
            "addresses": [{"address": "127.9.0.4/24"}],
        },
    ]
    config = decode(to_yaml(documents), minor=13)
    assert link_addresses(config, (mac,)) == ("127.9.0.4",)
    assert link_addresses(config, ("bc:24:11:00:00:02",)) == ()


@pytest.mark.parametrize(
    ("install", "path"),
    [
        ({"disk": "/dev/sda"}, "/dev/sda"),
        ({"disk": "/dev/sdz"}, None),
        ({"diskSelector": {"serial": "second"}}, "/dev/sdb"),
        ({"diskSelector": {"size": ">= 50GB"}}, "/dev/sdb"),
        ({"diskSelector": {"size": "< 50GiB", "model": "QEMU*"}}, "/dev/sda"),
        ({"diskSelector": {"size": "nonsense"}}, None),
    ],
)
def test_install_disk_by_path_or_selector(install: dict[str, Any], path: str | None) -> None:
    """Paths, serials and sizes choose as Talos' selector does."""
    disks = (Disk("scsi0", 20 * 2**30), Disk("scsi1", 100 * 2**30, serial="second"))
    machine = Machine("u", 1, "pve", "a", 1, 1, (), disks)
    chosen = choose(install, block_devices(machine))
    assert (chosen.path if chosen else None) == path
    assert [d.name for d in block_devices(machine, renamed=True)] == ["vda", "vdb"]


def test_tag_of_an_image() -> None:
    """Registries with ports and digests do not confuse the version."""
    assert image_tag("127.0.0.1:5000/kubelet:v1.36.3@sha256:00") == "v1.36.3"

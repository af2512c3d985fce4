"""Objects, keys and files as data."""

from __future__ import annotations

import base64
import subprocess
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from ruamel.yaml import YAML
from tests.gitops.inventories import GPU, cluster

from talops.errors import TalopsError
from talops.gitops import deploykey, flux
from talops.gitops.addons import wanted
from talops.gitops.catalog import known
from talops.gitops.placing import installed, placed
from talops.gitops.skeleton import skeleton
from talops.redaction import Secret

if TYPE_CHECKING:
    from pathlib import Path

TOKEN = {
    "proxmox_api_token_id": Secret("root@pam!x"),
    "proxmox_api_token_secret": Secret("value"),
}

NAS = "truenas: {url: 'https://nas.example', pool: tank, secret_namespace: csi}\n"


@pytest.mark.parametrize(
    ("more", "names"),
    [
        ("", []),
        ("cni: none\n", []),
        ("cni: cilium\naddons: {metrics_server: true}\n", ["cilium", "metrics-server"]),
        ("addons: {proxmox_ccm: true}\n", ["proxmox-ccm credentials"]),
    ],
)
def test_what_an_inventory_asks_for(tmp_path: Path, more: str, names: list[str]) -> None:
    """In the order in which they are applied."""
    assert [a.name for a in wanted(cluster(tmp_path, more), TOKEN)] == names


@pytest.mark.parametrize(
    ("more", "names"),
    [
        ("", ["gpu-operator"]),
        ("addons: {nvidia: false}\n", []),
        ("addons: {nvidia: true}\n", ["gpu-operator"]),
    ],
)
def test_gpus_bring_nvidias_operator(tmp_path: Path, more: str, names: list[str]) -> None:
    """Enabled automatically where GPUs are."""
    found = wanted(cluster(tmp_path, more, nodes=GPU), {})
    assert [a.name for a in found] == names


def test_the_operator_takes_what_talos_brings(tmp_path: Path) -> None:
    """No driver and no toolkit of its own, and a namespace that lets privileged pods in."""
    (addon,) = wanted(cluster(tmp_path, "", nodes=GPU), {})
    assert addon.values == {
        "driver": {"enabled": False},
        "toolkit": {"enabled": False},
        "hostPaths": {"driverInstallDir": "/usr/local"},
    }
    [place] = addon.own
    assert place["metadata"]["name"] == known("gpu-operator").namespace
    assert place["metadata"]["labels"] == {"pod-security.kubernetes.io/enforce": "privileged"}
    assert known("gpu-operator").version >= "v26.3.1"


def test_the_device_plugin_below_talos_1_13(tmp_path: Path) -> None:
    """There the plugin runs on the GPU nodes, in NVIDIA's own runtime."""
    old = replace(cluster(tmp_path, "", nodes=GPU), talos_version="v1.12.4")
    (addon,) = wanted(old, {})
    assert (addon.name, addon.values["runtimeClassName"]) == ("nvidia-device-plugin", "nvidia")
    assert [obj["kind"] for obj in addon.own] == ["RuntimeClass"]
    assert "gpu-1" in str(addon.values["affinity"])


def test_credentials_that_are_missing_are_named(tmp_path: Path) -> None:
    """An add-on that needs a token says so before anything is applied."""
    bare = cluster(tmp_path, "addons: {proxmox_csi: true}\n")
    with pytest.raises(TalopsError, match=r"addons\.proxmox_csi requires Proxmox, which"):
        wanted(replace(bare, proxmox=None), {})
    with pytest.raises(TalopsError, match="truenas-api requires an API key") as refused:
        wanted(cluster(tmp_path, NAS), {})
    assert refused.value.hint == "talops secrets set truenas_api_key"


@pytest.mark.parametrize("key", ["csi", "ccm"])
def test_only_the_plugins_own_token_goes_into_the_cluster(tmp_path: Path, key: str) -> None:
    """Talops' own can destroy every VM: it is not used where the plugin's is missing, and not
    accepted in its place.
    """
    site = cluster(tmp_path, f"addons: {{proxmox_{key}: true}}\n")
    talops = {
        "proxmox_api_token_id": Secret("talops@pve!talops"),
        "proxmox_api_token_secret": Secret("the-value-of-talops"),
    }
    (addon,) = wanted(site, talops)
    assert addon.own == ()
    assert addon.lacking
    assert addon.lacking.error.hint == "talops host prepare --user root@pam"
    same = {
        f"proxmox_{key}_token_{part}": talops[f"proxmox_api_token_{part}"]
        for part in ("id", "secret")
    }
    with pytest.raises(TalopsError, match="talops' own Proxmox token"):
        wanted(site, {**talops, **same})
    own = {f"proxmox_{key}_token_id": Secret(f"demo-{key}@pve!{key}")}
    own[f"proxmox_{key}_token_secret"] = Secret("the-value-of-the-plugin")
    (addon,) = wanted(site, {**talops, **own})
    text = base64.b64decode(addon.own[-1]["data"]["config.yaml"]).decode()
    assert "the-value-of-the-plugin" in text
    assert "talops" not in text


def test_the_nas_key_goes_where_the_driver_is(tmp_path: Path) -> None:
    """Namespace and Secret, with what a driver needs to find the TrueNAS."""
    (addon,) = wanted(cluster(tmp_path, NAS), {"truenas_api_key": Secret("1-x")})
    assert "1-x" not in repr(addon)
    place, held = addon.own
    assert place["metadata"]["name"] == held["metadata"]["namespace"] == "csi"
    assert base64.b64decode(held["data"]["api-key"]) == b"1-x"


def test_a_secret_that_is_too_large_is_refused() -> None:
    """One byte more than the API server takes."""
    flux.secret("fits", {"a": "x" * flux.LARGEST_SECRET})
    with pytest.raises(TalopsError, match="the limit is 1048576") as refused:
        flux.secret("large", {"a": "x" * (flux.LARGEST_SECRET + 1)})
    assert refused.value.where == "Secret flux-system/large"


def test_a_deploy_key_is_one_that_ssh_reads(tmp_path: Path) -> None:
    """ssh-keygen finds the same public half."""
    made = deploykey.generate()
    file = tmp_path / "key"
    file.touch(mode=0o600)
    file.write_text(made.reveal())
    done = subprocess.run(
        ["ssh-keygen", "-y", "-f", str(file)], capture_output=True, text=True, check=True
    )
    assert deploykey.public_part(made, "talops x").split()[:2] == done.stdout.split()[:2]
    with pytest.raises(TalopsError, match="not an OpenSSH private key"):
        deploykey.public_part(Secret("nonsense"), "")


@pytest.mark.parametrize(
    ("hook", "kept"),
    [
        (None, True),
        ("pre-install", True),
        ("post-install,post-upgrade", True),
        ("pre-upgrade", False),
        ("post-delete", False),
        ("pre-rollback, post-rollback", False),
    ],
)
def test_hooks_of_other_occasions_are_left_out(hook: str | None, kept: bool) -> None:
    """A job that tidies up after a removal must not run when the chart arrives."""
    notes = {"annotations": {"helm.sh/hook": hook}} if hook else {}
    obj = {"kind": "Job", "metadata": {"name": "x", **notes}}
    assert installed([obj]) == ([obj] if kept else [])


def test_namespaces_are_filled_in_where_they_belong() -> None:
    """Not on cluster-wide kinds, and never over one that is there."""
    kinds = [("Service", None), ("ClusterRole", None), ("Secret", "own"), ("Namespace", None)]
    objects = [
        {"kind": kind, "metadata": {"name": "x", **({"namespace": ns} if ns else {})}}
        for kind, ns in kinds
    ]
    found = [o["metadata"].get("namespace") for o in placed(objects, "kube-system")]
    assert found == ["kube-system", None, "own", None]


def test_the_skeleton_is_whole(tmp_path: Path) -> None:
    """Every file is YAML (or JSON5), every named resource exists, secrets are sealed."""
    repository = cluster(tmp_path, "").repository
    assert repository
    files = {file.path: file for file in skeleton(repository, Secret("c0ffee"))}
    assert "c0ffee" not in repr(files)
    for path, file in files.items():
        assert file.sealed is path.endswith(".sops.yaml")
        if not path.endswith("kustomization.yaml"):
            continue
        document = YAML(typ="safe").load(file.text)
        folder = path.rpartition("/")[0]
        for entry in [*document["resources"], *document.get("components", [])]:
            target = (tmp_path / folder / entry).resolve().relative_to(tmp_path.resolve())
            assert any(name == str(target) or name.startswith(f"{target}/") for name in files)
    assert any("# renovate: datasource=docker" in file.text for file in files.values())


@pytest.mark.parametrize(
    ("more", "url", "credentials"),
    [
        ("", "https://github.com/me/home.git", None),
        ("repository_visibility: private\n", "ssh://git@github.com/me/home.git", "deploy-key"),
        (
            "repository_visibility: private\ngitops: {credentials: token}\n",
            "https://github.com/me/home.git",
            "token",
        ),
        (
            "gitops: {url: 'https://git.example/a/b.git'}\nrepository_visibility: private\n",
            "https://git.example/a/b.git",
            "token",
        ),
        ("gitops: {credentials: deploy-key}\n", "ssh://git@github.com/me/home.git", "deploy-key"),
    ],
)
def test_how_a_repository_is_read(
    tmp_path: Path, more: str, url: str, credentials: str | None
) -> None:
    """Address and credentials follow from each other."""
    repository = cluster(tmp_path, more).repository
    assert repository
    assert (repository.url, repository.credentials) == (url, credentials)


def test_the_planted_key_is_the_identity_alone() -> None:
    """No comment with a date in it: the same key gives the same Secret."""
    created = flux.age_secret(Secret("AGE-SECRET-KEY-1X"))
    assert base64.b64decode(created["data"]["age.agekey"]) == b"AGE-SECRET-KEY-1X\n"

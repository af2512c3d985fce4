"""The secrets bundle: talosctl's format in both directions, and imports."""

from __future__ import annotations

import base64
import copy
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from talops.errors import TalopsError
from talops.machineconfig import yamltext
from talops.machineconfig.contract import Contract
from talops.machineconfig.generate import generate
from talops.machineconfig.request import ClusterRequest, NodeRequest
from talops.machineconfig.secrets import bundle as bundles

if TYPE_CHECKING:
    from talops.machineconfig.secrets.bundle import Bundle

TOKEN = re.compile(r"[0-9a-z]{6}\.[0-9a-z]{16}")
CLUSTER = ClusterRequest("demo", Contract.V1_13, "https://10.5.0.10:6443", "1.36.3")


def machine_config(
    bundle: Bundle, *, control_plane: bool, contract: Contract = Contract.V1_13
) -> list[Any]:
    node = NodeRequest("n", control_plane, "installer:v1", "/dev/sda")
    config = generate(replace(CLUSTER, contract=contract), node, bundle)
    return yamltext.load_all(config.to_yaml(), where="config")


def test_tokens_and_random_values(bundle: Bundle) -> None:
    """Tokens have kubeadm's form; the rest is 32 random bytes, the id URL-safe."""
    assert TOKEN.fullmatch(bundle.bootstrap_token.reveal())
    assert TOKEN.fullmatch(bundle.trustd_token.reveal())
    assert bundle.bootstrap_token != bundle.trustd_token
    assert len(base64.urlsafe_b64decode(bundle.cluster_id)) == 32
    assert not set("+/") & set(bundle.cluster_id)
    for secret in (bundle.cluster_secret, bundle.secretbox):
        assert len(base64.b64decode(secret.reveal(), validate=True)) == 32


@pytest.mark.parametrize(
    ("contract", "wanted"),
    [
        (None, "_" * 42 + "8="),
        (Contract.V1_13, "_" * 42 + "8="),
        (Contract.V1_14, "/" * 42 + "8="),
    ],
)
def test_the_cluster_id_as_talos_writes_it(
    monkeypatch: pytest.MonkeyPatch, contract: Contract | None, wanted: str
) -> None:
    """URL-safe up to contract 1.13, standard base64 from 1.14 on."""
    monkeypatch.setattr("secrets.token_bytes", lambda size: b"\xff" * size)
    assert bundles.new_cluster_id(contract) == wanted


def test_layout_of_the_file(bundle: Bundle) -> None:
    """The keys are talosctl's, in talosctl's order, with one-line base64 of whole PEM blocks."""
    data = yamltext.load(bundle.to_yaml(), where="secrets.yaml")
    assert list(data) == ["cluster", "secrets", "trustdinfo", "certs"]
    assert list(data["cluster"]) == ["id", "secret"]
    assert list(data["secrets"]) == ["bootstraptoken", "secretboxencryptionsecret"]
    assert list(data["trustdinfo"]) == ["token"]
    assert list(data["certs"]) == ["etcd", "k8s", "k8saggregator", "k8sserviceaccount", "os"]
    assert list(data["certs"]["k8sserviceaccount"]) == ["key"]
    for name in ("etcd", "k8s", "k8saggregator", "os"):
        block = base64.b64decode(data["certs"][name]["crt"], validate=True)
        assert block.startswith(b"-----BEGIN CERTIFICATE-----\n")
        assert block.endswith(b"-----END CERTIFICATE-----\n")


def test_round_trip(bundle: Bundle) -> None:
    """What was written is read back equal, and written again byte for byte."""
    text = bundle.to_yaml()
    again = bundles.from_yaml(text, where="secrets.yaml")
    assert again == bundle
    assert again.to_yaml() == text


def test_the_contract_is_kept_in_a_comment(bundle: Bundle) -> None:
    """The file stays talosctl's; talops finds the contract that it was made for."""
    text = replace(bundle, contract=Contract.V1_12).to_yaml()
    assert text.startswith("# ")
    assert text.endswith(bundle.to_yaml())
    assert bundles.from_yaml(text, where="x").contract is Contract.V1_12
    assert bundles.from_yaml(bundle.to_yaml(), where="x").contract is None
    with pytest.raises(TalopsError, match=r"contract v1\.99 is not supported"):
        bundles.from_yaml(text.replace("v1.12", "v1.99"), where="x")


def test_import_from_a_control_plane(bundle: Bundle) -> None:
    """A running control plane's config holds the whole bundle."""
    documents = machine_config(bundle, control_plane=True)
    assert bundles.from_machine_config(documents, where="cp-1") == bundle


def test_import_from_documents(bundle: Bundle) -> None:
    """A config of contract 1.14 holds the same secrets elsewhere, and shows its contract."""
    documents = machine_config(bundle, control_plane=True, contract=Contract.V1_14)
    found = bundles.from_machine_config(documents, where="cp-1")
    assert found == bundle
    assert found.contract is Contract.V1_14
    old = machine_config(bundle, control_plane=True)
    assert bundles.from_machine_config(old, where="cp-1").contract is None


def test_import_names_what_the_documents_lack(bundle: Bundle) -> None:
    """A document that was removed is reported by the name of its content."""
    documents = machine_config(bundle, control_plane=True, contract=Contract.V1_14)
    left = [d for d in documents if d.get("kind") != "KubeAggregatorCAConfig"]
    with pytest.raises(TalopsError, match=r"cluster\.aggregatorCA\.crt"):
        bundles.from_machine_config(left, where="cp-1")


def test_import_keeps_the_old_encryption_secret(bundle: Bundle) -> None:
    """A cluster from before Talos 1.3 keeps its AES key, or its secrets would be unreadable."""
    documents = machine_config(bundle, control_plane=True)
    secret = documents[0]["cluster"].pop("secretboxEncryptionSecret")
    documents[0]["cluster"]["aescbcEncryptionSecret"] = secret
    found = bundles.from_machine_config(documents, where="cp-1")
    assert found.aescbc.reveal() == secret
    assert bundles.from_yaml(found.to_yaml(), where="x") == found
    config = machine_config(found, control_plane=True)[0]["cluster"]
    assert config["aescbcEncryptionSecret"] == secret
    assert "secretboxEncryptionSecret" not in config
    documents = machine_config(found, control_plane=True, contract=Contract.V1_14)
    assert bundles.from_machine_config(documents, where="cp-1") == found


def test_import_from_a_worker_is_refused(bundle: Bundle) -> None:
    """A worker's config holds no keys; the error says which config to take."""
    with pytest.raises(TalopsError, match="not the config of a control plane") as caught:
        bundles.from_machine_config(machine_config(bundle, control_plane=False), where="w-1")
    assert "control plane" in (caught.value.hint or "")


def test_import_of_something_else_is_refused() -> None:
    """A file without a machine config says so."""
    with pytest.raises(TalopsError, match="not a machine config"):
        bundles.from_machine_config([{"kind": "HostnameConfig"}], where="x")


def test_everything_missing_is_named_at_once(bundle: Bundle) -> None:
    """An incomplete bundle is refused with every missing path."""
    data = copy.deepcopy(bundle.to_data())
    del data["certs"]["os"]["key"]
    del data["trustdinfo"]
    data["cluster"]["secret"] = ""
    with pytest.raises(TalopsError) as caught:
        bundles.from_data(data, where="secrets.yaml")
    for path in ("certs.os.key", "trustdinfo.token", "cluster.secret"):
        assert path in caught.value.what


def test_foreign_key_is_refused(bundle: Bundle) -> None:
    """A key that belongs to another certificate would only be noticed at bootstrap."""
    data = copy.deepcopy(bundle.to_data())
    data["certs"]["k8s"]["key"] = data["certs"]["etcd"]["key"]
    data["certs"]["os"]["crt"] = "bm90IGEgY2VydGlmaWNhdGU="
    data["certs"]["k8sserviceaccount"]["key"] = "bm90IGEga2V5"
    del data["secrets"]["secretboxencryptionsecret"]
    with pytest.raises(TalopsError) as caught:
        bundles.from_data(data, where="secrets.yaml")
    for text in (
        "Kubernetes CA: the key",
        "Talos CA does not contain",
        "service account",
        "secretbox",
    ):
        assert text in caught.value.what


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("cluster: {id: x}\nsops: {}\n", "still encrypted"),
        ("- a\n", "not a secrets bundle"),
        ("a: [\n", "not valid YAML"),
        ("", "expected one YAML document"),
    ],
)
def test_unusable_files(text: str, message: str) -> None:
    """Files that are not a bundle are refused with a reason."""
    with pytest.raises(TalopsError, match=message):
        bundles.from_yaml(text, where="secrets.yaml")


def test_nothing_secret_is_printed(bundle: Bundle) -> None:
    """repr, str and format of a bundle show no secret."""
    shown = f"{bundle!r} {bundle} {bundle.os!r}"
    secrets = [secret.reveal() for secret in bundle.secrets() if secret]
    assert len(secrets) == 9
    assert not any(value in shown for value in secrets)

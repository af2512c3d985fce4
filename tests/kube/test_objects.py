"""Manifests and kubeconfigs, by data."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING

import pytest

from talops.errors import TalopsError
from talops.kube.kubeconfig import load, parse
from talops.kube.objects import Ref, read_manifest

if TYPE_CHECKING:
    from pathlib import Path


def one(kind: str, name: str) -> str:
    return f"apiVersion: v1\nkind: {kind}\nmetadata: {{name: {name}}}\n"


def several(*kinds: str) -> str:
    return "---\n".join(one(kind, kind) for kind in kinds)


LATE = ["CustomResourceDefinition", "Service", "ValidatingWebhookConfiguration"]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("", []),
        ("---\n---\n", []),
        (f"{one('Deployment', 'd')}---\n{one('Namespace', 'n')}", ["n", "d"]),
        (several("ValidatingWebhookConfiguration", "Service", "CustomResourceDefinition"), LATE),
        ("kind: List\nitems:\n- {apiVersion: v1, kind: Pod, metadata: {name: p}}\n", ["p"]),
    ],
)
def test_a_manifest_becomes_objects_in_order(text: str, names: list[str]) -> None:
    """Namespaces and definitions first, webhooks last, lists opened, empty documents gone."""
    assert [obj["metadata"]["name"] for obj in read_manifest(text, "x.yaml")] == names


@pytest.mark.parametrize("text", ["a: [", "kind: Pod\n", "- 1\n", "just text\n"])
def test_a_broken_manifest_is_refused(text: str) -> None:
    """With its name in front."""
    with pytest.raises(TalopsError) as caught:
        read_manifest(text, "x.yaml")
    assert str(caught.value).startswith("x.yaml: ")


def test_a_ref_reads_well() -> None:
    """Kind, namespace and name."""
    assert str(Ref("v1", "Pod", "a", "b")) == "Pod b/a"
    assert str(Ref("v1", "Node", "a")) == "Node a"


CONFIG = """
current-context: admin@demo
contexts:
- {name: admin@demo, context: {cluster: demo, user: admin}}
- {name: other, context: {cluster: demo, user: token}}
clusters:
- {name: demo, cluster: {server: "https://10.0.0.10:6443/", certificate-authority-data: %s}}
users:
- {name: admin, user: {client-certificate-data: %s, client-key: key.pem}}
- {name: token, user: {token: very-secret-token}}
"""


def b64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def test_a_kubeconfig_is_read(tmp_path: Path) -> None:
    """Inline data, files beside it, the chosen context; secrets do not print."""
    (tmp_path / "key.pem").write_text("KEY-TEXT")
    (tmp_path / "kubeconfig").write_text(CONFIG % (b64("CA"), b64("CERT")))
    config = load(tmp_path / "kubeconfig")
    assert config
    assert (config.server, config.ca, config.certificate) == (
        "https://10.0.0.10:6443",
        "CA",
        "CERT",
    )
    assert config.key
    assert config.key.reveal() == "KEY-TEXT"
    assert "KEY-TEXT" not in repr(config)
    other = load(tmp_path / "kubeconfig", context="other")
    assert other
    assert other.token
    assert load(tmp_path / "nothing") is None


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a: [",
        "current-context: x\n",
        "current-context: x\ncontexts: []\n",
        CONFIG % ("!", "!"),
        CONFIG % (b64("CA"), b64("CERT")),  # names a key file that does not exist
    ],
)
def test_a_broken_kubeconfig_is_refused(text: str) -> None:
    """As an error with its place, not as a traceback."""
    with pytest.raises(TalopsError):
        parse(text)


def test_a_useless_client_certificate_is_refused() -> None:
    """OpenSSL's complaint becomes an error with advice, and the key is not in it."""
    text = (CONFIG % (b64("CA"), b64("CERT"))).replace(
        "client-key: key.pem", f"client-key-data: {b64('K-E-Y')}"
    )
    for config in (
        parse(text.replace(f"certificate-authority-data: {b64('CA')}", "x: y")),
        parse(text),
    ):
        with pytest.raises(TalopsError, match="invalid certificate or key") as caught:
            config.ssl_context()
        assert "K-E-Y" not in str(caught.value)

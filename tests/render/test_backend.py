"""What reaches tofu through its environment, and only there."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from talops.inventory.load import load
from talops.redaction import Secret
from talops.render.backend import backend_environment, provider_environment
from talops.render.layers import layers, platform

EXAMPLES = Path(__file__).parent.parent.parent / "examples"
SECRETS = {
    "tfstate_username": Secret("user"),
    "tfstate_password": Secret("pass"),
    "proxmox_api_token_id": Secret("talops@pve!main"),
    "proxmox_api_token_secret": Secret("0000"),
    "state_encryption_passphrase": Secret("correct horse"),
}


def test_http_backend() -> None:
    """Address, lock address and verbs of the layer's own state."""
    cluster = load(EXAMPLES / "ha").require()
    found = backend_environment(cluster, platform(cluster), SECRETS)
    assert found["TF_HTTP_ADDRESS"] == "https://state.example:8443/ha/02-platforms-ha"
    assert found["TF_HTTP_LOCK_ADDRESS"] == found["TF_HTTP_UNLOCK_ADDRESS"]
    assert (found["TF_HTTP_USERNAME"], found["TF_HTTP_PASSWORD"]) == ("user", "pass")


def test_s3_backend() -> None:
    """Keys, endpoint, and no checksums that such stores refuse."""
    cluster = load(EXAMPLES / "template").require()
    found = backend_environment(cluster, platform(cluster), SECRETS)
    assert found["AWS_ENDPOINT_URL_S3"] == "https://minio.example:9000"
    assert found["AWS_REQUEST_CHECKSUM_CALCULATION"] == "when_required"
    assert found["AWS_ACCESS_KEY_ID"] == "user"


def test_r2_endpoint_comes_from_the_account() -> None:
    """The account id is a secret, so the endpoint with it is in no file."""
    cluster = load(EXAMPLES / "template").require()
    cluster = replace(cluster, state=replace(cluster.state, endpoint=None))
    found = backend_environment(cluster, platform(cluster), {"cf_account_id": Secret("abc")})
    assert found["AWS_ENDPOINT_URL_S3"] == "https://abc.r2.cloudflarestorage.com"


def test_provider() -> None:
    """bpg/proxmox reads its own variables."""
    cluster = load(EXAMPLES / "ha").require()
    assert provider_environment(cluster, SECRETS, Path("/inventory")) == {
        "SSL_CERT_FILE": "/inventory/pve-ca.pem",
        "PROXMOX_VE_ENDPOINT": "https://pve.example:8006",
        "PROXMOX_VE_API_TOKEN": "talops@pve!main=0000",
        "TF_VAR_state_encryption_passphrase": "correct horse",
    }


def test_layers_in_order() -> None:
    """Hypervisors before platforms before legacy; none on bare metal."""
    names = [layer.name for layer in layers(load(EXAMPLES / "ha").require())]
    assert names == ["01-hypervisors", "02-platforms/ha", "03-legacy/bastion"]
    assert layers(load(EXAMPLES / "bare-metal").require()) == ()

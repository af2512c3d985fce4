"""The state backend of a layer: the block in backend.tf, and variables in the environment."""

from __future__ import annotations

from typing import TYPE_CHECKING

from talops.render.hcl import assignments
from talops.render.layers import hypervisors

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from talops.inventory.model import Cluster, State
    from talops.layer import Layer
    from talops.redaction import Secret


def backend_block(cluster: Cluster, layer: Layer) -> str:
    """The `backend` block; addresses and credentials come from the environment."""
    state = cluster.state
    if state.kind == "http":
        return '  backend "http" {}\n'
    settings = {"path": "terraform.tfstate"} if state.kind == "local" else _s3(state, layer)
    return f'  backend "{state.kind}" {{\n{assignments(settings, 4)}\n  }}\n'


def _s3(state: State, layer: Layer) -> dict[str, object]:
    settings: dict[str, object] = {
        "bucket": state.bucket,
        "key": f"{state.prefix}/{layer.state}.tfstate",
        "region": state.region or "auto",
        "use_lockfile": True,
    }
    if not aws(state):
        # Stores other than AWS do not have its regions, accounts and metadata service.
        settings |= {
            "use_path_style": True,
            "skip_credentials_validation": True,
            "skip_metadata_api_check": True,
            "skip_region_validation": True,
            "skip_requesting_account_id": True,
            "skip_s3_checksum": True,
        }
    return settings


def aws(state: State) -> bool:
    return state.endpoint is None and state.region not in {None, "auto"}


def backend_environment(
    cluster: Cluster, layer: Layer, credentials: Mapping[str, Secret]
) -> dict[str, str]:
    """Environment variables for the tofu process; the caller never writes them to a file."""
    state = cluster.state
    if state.kind == "http":
        return _http_environment(cluster, layer, credentials)
    if state.kind == "s3":
        return _s3_environment(state, credentials)
    return {}


def _http_environment(
    cluster: Cluster, layer: Layer, credentials: Mapping[str, Secret]
) -> dict[str, str]:
    state = cluster.state
    address = f"{state.url}/{layer.state}"
    variables = {
        "TF_HTTP_ADDRESS": address,
        "TF_HTTP_LOCK_ADDRESS": f"{address}/lock",
        "TF_HTTP_UNLOCK_ADDRESS": f"{address}/lock",
        "TF_HTTP_LOCK_METHOD": "LOCK",
        "TF_HTTP_UNLOCK_METHOD": "UNLOCK",
        "TF_VAR_hypervisors_state_address": f"{state.url}/{hypervisors(cluster).state}",
    }
    return variables | _revealed(
        credentials,
        {"tfstate_username": "TF_HTTP_USERNAME", "tfstate_password": "TF_HTTP_PASSWORD"},
    )


def _s3_environment(state: State, credentials: Mapping[str, Secret]) -> dict[str, str]:
    variables = s3_keys(credentials)
    endpoint = state.endpoint
    if endpoint is None and "cf_account_id" in credentials:
        account = credentials["cf_account_id"].reveal()
        endpoint = f"https://{account}.r2.cloudflarestorage.com"
    if endpoint:
        variables["AWS_ENDPOINT_URL_S3"] = endpoint
    if not aws(state):
        # R2 and others reject the checksums that newer AWS clients add by default.
        variables["AWS_REQUEST_CHECKSUM_CALCULATION"] = "when_required"
        variables["AWS_RESPONSE_CHECKSUM_VALIDATION"] = "when_required"
    return variables


def s3_keys(credentials: Mapping[str, Secret]) -> dict[str, str]:
    return _revealed(
        credentials,
        {"tfstate_username": "AWS_ACCESS_KEY_ID", "tfstate_password": "AWS_SECRET_ACCESS_KEY"},
    )


def _revealed(credentials: Mapping[str, Secret], names: dict[str, str]) -> dict[str, str]:
    return {variable: credentials[k].reveal() for k, variable in names.items() if k in credentials}


def provider_environment(
    cluster: Cluster, credentials: Mapping[str, Secret], root: Path
) -> dict[str, str]:
    """Environment of bpg/proxmox; `root` is the base of relative paths in the inventory."""
    if cluster.proxmox is None:
        return {}
    variables = {"PROXMOX_VE_ENDPOINT": cluster.proxmox.api_url}
    if cluster.proxmox.ca_file:
        # Go reads this file in addition to the directory of system certificates.
        variables["SSL_CERT_FILE"] = str((root / cluster.proxmox.ca_file).resolve())
    if cluster.proxmox.insecure:
        variables["PROXMOX_VE_INSECURE"] = "true"
    if {"proxmox_api_token_id", "proxmox_api_token_secret"} <= credentials.keys():
        token = credentials["proxmox_api_token_id"].reveal()
        value = credentials["proxmox_api_token_secret"].reveal()
        variables["PROXMOX_VE_API_TOKEN"] = f"{token}={value}"
    if "state_encryption_passphrase" in credentials:
        passphrase = credentials["state_encryption_passphrase"].reveal()
        variables["TF_VAR_state_encryption_passphrase"] = passphrase
    return variables

"""A read-only SSH deploy key for one repository."""

from __future__ import annotations

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_ssh_private_key,
)

from talops.errors import TalopsError
from talops.redaction import Secret

# Published by GitHub at docs.github.com, "GitHub's SSH key fingerprints".
GITHUB_HOSTS = (
    "github.com ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl\n"
)
VAULT_NAME = "git_deploy_key"


def generate() -> Secret:
    key = Ed25519PrivateKey.generate()
    pem = key.private_bytes(Encoding.PEM, PrivateFormat.OpenSSH, NoEncryption())
    return Secret(pem.decode())


def public_part(private: Secret, comment: str) -> str:
    try:
        key = load_ssh_private_key(private.reveal().encode(), None)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        raise TalopsError(
            "the deploy key is not an OpenSSH private key without a passphrase",
            where=VAULT_NAME,
            hint=f"talops secrets set {VAULT_NAME}, or remove it to let talops create one",
        ) from None
    line = key.public_key().public_bytes(Encoding.OpenSSH, PublicFormat.OpenSSH).decode()
    return f"{line} {comment}"

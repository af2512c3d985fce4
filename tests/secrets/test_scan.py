"""What counts as a plain secret, by data."""

from __future__ import annotations

import base64

import pytest

from talops.redaction import Secret
from talops.secrets.scan import scan

PEM = "-----BEGIN EC PRIVATE KEY-----\nabc\n-----END EC PRIVATE KEY-----\n"
CERTIFICATE = "-----BEGIN CERTIFICATE-----\nabc\n-----END CERTIFICATE-----\n"
UUID = "01234567-89ab-cdef-0123-456789abcdef"


def b64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


@pytest.mark.parametrize(
    ("name", "text", "lines"),
    [
        ("age.key", "# public key: age1x\nAGE-SECRET-KEY-1" + "Q" * 58, [2]),
        ("id", PEM, [1]),
        ("ca.pem", CERTIFICATE, []),
        ("talos/secrets.yaml", f"certs:\n  key: {b64(PEM)}\n", [2]),
        ("talos/secrets.yaml", f"certs:\n  crt: {b64(CERTIFICATE)}\n", []),
        ("main.tf", f'api_token = "root@pam!talops={UUID}"', [1]),
        ("docs.md", "use root@pam!talops=<uuid>", []),
        ("x.md", "ghp_" + "a1B2" * 9, [1]),
        ("cluster.yaml", "state:\n  url: postgres://me:hunter22@db/x\n", [2]),
        ("cluster.yaml", "state:\n  url: postgres://me:${PASSWORD}@db/x\n", []),
        ("cluster.yaml", "tfstate_password: hunter22\n", [1]),
        ("cluster.yaml", 'tfstate_password: ""\n', []),
        ("cluster.yaml", "tfstate_password: ENC[AES256_GCM,data:x]\n", []),
        ("cluster.yaml", "tfstate_password: # set with talops secrets set\n", []),
        ("a.schema.json", '    "tfstate_password": {\n      "type": "string"\n', []),
        ("a.json", '    "tfstate_password": "{abc",\n', [1]),
        ("x.tfvars", 'proxmox_api_token_secret = "abc"', [1]),
        ("note.md", f"key 3-{'Ab1' * 21}z", [1]),
        ("note.md", f"sum 3-{'ab1' * 21}c", []),
        ("main.tf", "state_encryption_passphrase = var.passphrase", []),
        ("secret.yaml", "kind: Secret\nmetadata: {name: a}\ndata: {k: dmFsdWU=}\n", [None]),
        ("secret.yaml", "kind: Secret\nmetadata: {name: a}\nstringData: {k: '${K}'}\n", []),
        ("secret.yaml", "kind: Secret\nmetadata: {name: a}\ndata: {k: 'ENC[AES,x]'}\n", []),
        ("secret.yaml", "kind: Secret\ndata: {{ template }}\n", []),
        ("notes.txt", "the password is known-value!", [1]),
        ("test.py", "AGE-SECRET-KEY-1" + "Q" * 58 + "  # talops: not a secret", []),
    ],
)
def test_what_is_found(name: str, text: str, lines: list[int | None]) -> None:
    """File and text in, lines out; the problem never repeats the secret."""
    found = list(scan(name, text, {"tfstate_password": Secret("known-value!")}))
    assert [problem.where.line or None for problem in found] == lines
    for problem in found:
        assert "known-value!" not in str(problem)
        assert "hunter22" not in str(problem)


def test_short_known_values_are_not_searched() -> None:
    """A four-letter password would be found in every other file."""
    assert not list(scan("a.txt", "root", {"x": Secret("root")}))

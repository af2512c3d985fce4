"""PEM in the format of Talos: base64 of the whole PEM on one line, and `ED25519 PRIVATE KEY`."""

from __future__ import annotations

import base64

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.x509 import Certificate, load_pem_x509_certificate

from talops.errors import TalopsError

PrivateKey = ed25519.Ed25519PrivateKey | ec.EllipticCurvePrivateKey | rsa.RSAPrivateKey

_PLAIN_HEADER = b"PRIVATE KEY-----"
_TALOS_HEADER = b"ED25519 PRIVATE KEY-----"
_NO_PASSWORD = serialization.NoEncryption()


def one_line(pem: bytes) -> str:
    return base64.b64encode(pem).decode()


def from_one_line(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except ValueError:
        raise TalopsError("is not base64 of a PEM block") from None


def key_to_pem(key: PrivateKey) -> bytes:
    if isinstance(key, ed25519.Ed25519PrivateKey):
        pem = key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, _NO_PASSWORD
        )
        return pem.replace(_PLAIN_HEADER, _TALOS_HEADER)
    # SEC1 for elliptic curves, PKCS1 for RSA.
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL, _NO_PASSWORD
    )


def key_from_pem(pem: bytes) -> PrivateKey:
    plain = pem.replace(_TALOS_HEADER, _PLAIN_HEADER)
    try:
        # The library validates RSA keys by testing for primes, half a second for a key of 4096
        # bits. `fits_together` detects damaged keys instead.
        key = serialization.load_pem_private_key(plain, None, unsafe_skip_rsa_key_validation=True)
        damaged = isinstance(key, rsa.RSAPrivateKey) and not fits_together(key.private_numbers())
    except (ValueError, TypeError, UnsupportedAlgorithm):
        raise TalopsError("does not contain a readable private key") from None
    if damaged:
        raise TalopsError("contains an RSA key whose numbers do not match each other")
    if not isinstance(key, PrivateKey):
        raise TalopsError("contains a key that is not Ed25519, ECDSA or RSA")
    return key


def fits_together(numbers: rsa.RSAPrivateNumbers) -> bool:
    """Check the numbers of the key against each other, so that any wrong one is detected."""
    p, q, d, public = numbers.p, numbers.q, numbers.d, numbers.public_numbers
    return (
        p > 1
        and q > 1
        and p * q == public.n
        and d * public.e % (p - 1) == 1
        and d * public.e % (q - 1) == 1
        and numbers.dmp1 == d % (p - 1)
        and numbers.dmq1 == d % (q - 1)
        and numbers.iqmp * q % p == 1
    )


def certificate_to_pem(certificate: Certificate) -> bytes:
    return certificate.public_bytes(serialization.Encoding.PEM)


def certificate_from_pem(pem: bytes) -> Certificate:
    try:
        return load_pem_x509_certificate(pem)
    except ValueError:
        raise TalopsError("does not contain a readable certificate") from None


def belong_together(certificate: Certificate, key: PrivateKey) -> bool:
    form = (serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
    return certificate.public_key().public_bytes(*form) == key.public_key().public_bytes(*form)


def public_pem(private: str) -> str:
    """The public key of a private one."""
    public = key_from_pem(private.encode()).public_key()
    kind = serialization.PublicFormat.SubjectPublicKeyInfo
    return public.public_bytes(serialization.Encoding.PEM, kind).decode()

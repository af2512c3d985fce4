"""The certificates of a Talos cluster, generated as Talos does."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cached_property

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from talops.machineconfig.secrets import pem
from talops.redaction import Secret

CA_LIFETIME = timedelta(hours=87_600)
CLIENT_LIFETIME = timedelta(days=365)
# A kubeconfig must work immediately on a machine whose clock is slightly behind.
KUBECONFIG_BACKDATE = timedelta(seconds=10)
SERIAL_BITS = 128
KEY_ID_BYTES = 20
SERVICE_ACCOUNT_BITS = 4096

_CLIENT = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.CLIENT_AUTH])
_SERVER_AND_CLIENT = x509.ExtendedKeyUsage(
    [ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]
)


@dataclass(frozen=True)
class Pair:
    """A certificate and its key, both as base64 of their PEM; the key may be missing (workers)."""

    crt: str
    key: Secret = field(default_factory=lambda: Secret(""))

    @cached_property
    def certificate(self) -> x509.Certificate:
        return pem.certificate_from_pem(pem.from_one_line(self.crt))

    @cached_property
    def private_key(self) -> pem.PrivateKey:
        return pem.key_from_pem(pem.from_one_line(self.key.reveal()))


def talos_ca(now: datetime) -> Pair:
    return _authority(ed25519.Ed25519PrivateKey.generate(), "talos", now)


def kubernetes_ca(now: datetime) -> Pair:
    return _authority(ec.generate_private_key(ec.SECP256R1()), "kubernetes", now)


def etcd_ca(now: datetime) -> Pair:
    return _authority(ec.generate_private_key(ec.SECP256R1()), "etcd", now)


def aggregator_ca(now: datetime) -> Pair:
    return _authority(ec.generate_private_key(ec.SECP256R1()), None, now)


def service_account_key() -> Secret:
    key = rsa.generate_private_key(public_exponent=65_537, key_size=SERVICE_ACCOUNT_BITS)
    return Secret(pem.one_line(pem.key_to_pem(key)))


def talos_client(
    ca: Pair, roles: tuple[str, ...], now: datetime, lifetime: timedelta = CLIENT_LIFETIME
) -> Pair:
    """A client certificate for the Talos API; its roles are the organisations of the subject."""
    subject = x509.Name([x509.NameAttribute(NameOID.ORGANIZATION_NAME, role) for role in roles])
    return _client(ed25519.Ed25519PrivateKey.generate(), subject, ca, (now, now + lifetime))


def kubernetes_admin(ca: Pair, now: datetime, lifetime: timedelta = CLIENT_LIFETIME) -> Pair:
    return kubernetes_client(ca, "admin", ("system:masters",), now, lifetime)


def kubernetes_client(
    ca: Pair, user: str, groups: tuple[str, ...], now: datetime, lifetime: timedelta
) -> Pair:
    """A client certificate for the Kubernetes API: its common name is the user."""
    names = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, group) for group in groups]
    subject = x509.Name([*names, x509.NameAttribute(NameOID.COMMON_NAME, user)])
    validity = (now - KUBECONFIG_BACKDATE, now + lifetime)
    return _client(ec.generate_private_key(ec.SECP256R1()), subject, ca, validity)


def _authority(key: pem.PrivateKey, organisation: str | None, now: datetime) -> Pair:
    names = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, organisation)] if organisation else []
    name = x509.Name(names)
    builder = (
        _builder(name, name, key, (now, now + CA_LIFETIME))
        .add_extension(_usage(sign_certificates=True), critical=True)
        .add_extension(_SERVER_AND_CLIENT, critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .add_extension(x509.SubjectKeyIdentifier(secrets.token_bytes(KEY_ID_BYTES)), critical=False)
    )
    return _pair(builder.sign(key, _digest(key)), key)


def _client(
    key: pem.PrivateKey, subject: x509.Name, ca: Pair, validity: tuple[datetime, datetime]
) -> Pair:
    builder = (
        _builder(subject, ca.certificate.subject, key, validity)
        .add_extension(_usage(sign_certificates=False), critical=True)
        .add_extension(_CLIENT, critical=False)
    )
    if issuer := _key_id(ca.certificate):
        builder = builder.add_extension(issuer, critical=False)
    return _pair(builder.sign(ca.private_key, _digest(ca.private_key)), key)


def issuer_id(certificate: x509.Certificate) -> bytes:
    """The key id of the CA that signed it; empty if the certificate does not say."""
    try:
        found = certificate.extensions.get_extension_for_class(x509.AuthorityKeyIdentifier)
    except x509.ExtensionNotFound:
        return b""
    return found.value.key_identifier or b""


def subject_id(certificate: x509.Certificate) -> bytes:
    """The key id of a CA itself."""
    own = _key_id(certificate)
    return (own.key_identifier if own else None) or b""


def _key_id(ca: x509.Certificate) -> x509.AuthorityKeyIdentifier | None:
    try:
        own = ca.extensions.get_extension_for_class(x509.SubjectKeyIdentifier)
    except x509.ExtensionNotFound:  # an imported CA
        return None
    return x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(own.value)


def _builder(
    subject: x509.Name,
    issuer: x509.Name,
    key: pem.PrivateKey,
    validity: tuple[datetime, datetime],
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(secrets.randbits(SERIAL_BITS) or 1)
        .not_valid_before(validity[0].replace(microsecond=0))
        .not_valid_after(validity[1].replace(microsecond=0))
    )


def _usage(*, sign_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        key_cert_sign=sign_certificates,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        crl_sign=False,
        encipher_only=False,
        decipher_only=False,
    )


def _digest(key: pem.PrivateKey) -> hashes.SHA256 | None:
    return None if isinstance(key, ed25519.Ed25519PrivateKey) else hashes.SHA256()


def _pair(certificate: x509.Certificate, key: pem.PrivateKey) -> Pair:
    return Pair(
        crt=pem.one_line(pem.certificate_to_pem(certificate)),
        key=Secret(pem.one_line(pem.key_to_pem(key))),
    )

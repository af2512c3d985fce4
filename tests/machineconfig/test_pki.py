"""Every certificate and key, read back and compared with what Talos itself makes."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.x509.oid import ExtendedKeyUsageOID, SignatureAlgorithmOID

from talops.errors import TalopsError
from talops.machineconfig.secrets import pem, pki

if TYPE_CHECKING:
    from datetime import datetime

    from talops.machineconfig.secrets.bundle import Bundle
    from talops.machineconfig.secrets.pki import Pair
    from talops.redaction import Secret

AUTHORITIES = [
    ("os", "O=talos", ed25519.Ed25519PrivateKey, "ED25519 PRIVATE KEY"),
    ("k8s", "O=kubernetes", ec.EllipticCurvePrivateKey, "EC PRIVATE KEY"),
    ("etcd", "O=etcd", ec.EllipticCurvePrivateKey, "EC PRIVATE KEY"),
    ("aggregator", "", ec.EllipticCurvePrivateKey, "EC PRIVATE KEY"),
]
BOTH = [ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]


def header(key: Secret) -> str:
    return pem.from_one_line(key.reveal()).decode().split("-----BEGIN ")[1].split("-----")[0]


def usages(certificate: x509.Certificate) -> tuple[set[str], bool]:
    found = certificate.extensions.get_extension_for_class(x509.KeyUsage)
    names = {
        name
        for name in ("digital_signature", "key_cert_sign", "crl_sign", "key_encipherment")
        if getattr(found.value, name)
    }
    return names, found.critical


def purposes(certificate: x509.Certificate) -> list[x509.ObjectIdentifier]:
    return list(certificate.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value)


@pytest.mark.parametrize(("name", "subject", "key_type", "label"), AUTHORITIES)
def test_authority(
    bundle: Bundle, now: datetime, name: str, subject: str, key_type: type, label: str
) -> None:
    """Subject, key, lifetime, serial and extensions of each CA are those of Talos."""
    pair: Pair = getattr(bundle, name)
    certificate = pair.certificate
    assert certificate.version is x509.Version.v3
    assert certificate.subject.rfc4514_string() == subject
    assert certificate.issuer == certificate.subject
    assert isinstance(pair.private_key, key_type)
    assert header(pair.key) == label
    assert pem.belong_together(certificate, pair.private_key)
    assert certificate.not_valid_before_utc == now
    assert certificate.not_valid_after_utc - now == timedelta(hours=87_600)
    assert 64 < certificate.serial_number.bit_length() <= 128
    assert usages(certificate) == ({"digital_signature", "key_cert_sign"}, True)
    assert purposes(certificate) == BOTH
    basic = certificate.extensions.get_extension_for_class(x509.BasicConstraints)
    assert (basic.critical, basic.value.ca, basic.value.path_length) == (True, True, None)
    own = certificate.extensions.get_extension_for_class(x509.SubjectKeyIdentifier)
    assert len(own.value.digest) == 20
    with pytest.raises(x509.ExtensionNotFound):
        certificate.extensions.get_extension_for_class(x509.AuthorityKeyIdentifier)
    certificate.verify_directly_issued_by(certificate)


def test_signatures_and_curves(bundle: Bundle) -> None:
    """Ed25519 for Talos; P-256 with SHA-256 for Kubernetes and etcd."""
    assert bundle.os.certificate.signature_algorithm_oid == SignatureAlgorithmOID.ED25519
    for pair in (bundle.k8s, bundle.etcd, bundle.aggregator):
        assert pair.certificate.signature_algorithm_oid == SignatureAlgorithmOID.ECDSA_WITH_SHA256
        assert isinstance(pair.private_key, ec.EllipticCurvePrivateKey)
        assert isinstance(pair.private_key.curve, ec.SECP256R1)


def test_service_account_key(bundle: Bundle) -> None:
    """RSA of 4096 bits, PKCS1."""
    key = pem.key_from_pem(pem.from_one_line(bundle.service_account.reveal()))
    assert isinstance(key, rsa.RSAPrivateKey)
    assert key.key_size == 4096
    assert header(bundle.service_account) == "RSA PRIVATE KEY"


def test_talos_client_certificate(bundle: Bundle, now: datetime) -> None:
    """The roles are the organisations; only clientAuth, or Talos refuses the certificate."""
    pair = pki.talos_client(bundle.os, ("os:admin",), now)
    certificate = pair.certificate
    assert certificate.subject.rfc4514_string() == "O=os:admin"
    assert certificate.issuer == bundle.os.certificate.subject
    assert header(pair.key) == "ED25519 PRIVATE KEY"
    assert certificate.not_valid_after_utc - certificate.not_valid_before_utc == timedelta(days=365)
    assert usages(certificate) == ({"digital_signature"}, True)
    assert purposes(certificate) == [ExtendedKeyUsageOID.CLIENT_AUTH]
    issuer = certificate.extensions.get_extension_for_class(x509.AuthorityKeyIdentifier)
    own = bundle.os.certificate.extensions.get_extension_for_class(x509.SubjectKeyIdentifier)
    assert issuer.value.key_identifier == own.value.digest
    with pytest.raises(x509.ExtensionNotFound):
        certificate.extensions.get_extension_for_class(x509.BasicConstraints)
    certificate.verify_directly_issued_by(bundle.os.certificate)


def test_kubernetes_admin_certificate(bundle: Bundle, now: datetime) -> None:
    """system:masters for a year, valid from ten seconds ago."""
    certificate = pki.kubernetes_admin(bundle.k8s, now).certificate
    names = {a.rfc4514_attribute_name: a.value for a in certificate.subject}
    assert names == {"O": "system:masters", "CN": "admin"}
    assert certificate.not_valid_before_utc == now - timedelta(seconds=10)
    assert certificate.not_valid_after_utc == now + timedelta(days=365)
    assert purposes(certificate) == [ExtendedKeyUsageOID.CLIENT_AUTH]
    certificate.verify_directly_issued_by(bundle.k8s.certificate)


def test_every_authority_is_new(bundle: Bundle, now: datetime) -> None:
    """Two clusters share neither keys nor serials nor key ids."""
    other = pki.talos_ca(now)
    assert other.certificate.serial_number != bundle.os.certificate.serial_number
    assert other.key != bundle.os.key


def test_pem_headers_both_ways() -> None:
    """Talos writes its own header for Ed25519 and reads the standard one too; so do we."""
    key = ed25519.Ed25519PrivateKey.generate()
    text = pem.key_to_pem(key)
    assert text.endswith(b"-----END ED25519 PRIVATE KEY-----\n")
    standard = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    for form in (text, standard):
        read = pem.key_from_pem(form)
        assert read.public_key() == key.public_key()


@pytest.mark.parametrize("broken", ["%%%", "bm90IGEgcGVt", ""])
def test_broken_pem_is_refused_without_showing_it(broken: str) -> None:
    """What is not a key is rejected with an error that does not quote it."""
    with pytest.raises(TalopsError) as caught:
        pem.key_from_pem(pem.from_one_line(broken))
    assert broken == "" or broken not in str(caught.value)


@pytest.mark.parametrize("name", ["p", "q", "d", "dmp1", "dmq1", "iqmp", "n", "e"])
def test_a_damaged_rsa_key_is_refused(bundle: Bundle, name: str) -> None:
    """Any number of the key that does not follow from the others is seen."""
    key = pem.key_from_pem(pem.from_one_line(bundle.service_account.reveal()))
    assert isinstance(key, rsa.RSAPrivateKey)
    whole = key.private_numbers()
    parts = {n: getattr(whole, n) for n in ("p", "q", "d", "dmp1", "dmq1", "iqmp")}
    public = {n: getattr(whole.public_numbers, n) for n in ("n", "e")}
    for numbers in (parts, public):
        if name in numbers:
            numbers[name] += 2
    damaged = rsa.RSAPrivateNumbers(**parts, public_numbers=rsa.RSAPublicNumbers(**public))
    assert pem.fits_together(whole)
    assert not pem.fits_together(damaged)


def test_a_damaged_rsa_key_file_is_refused(bundle: Bundle) -> None:
    """The same in a file: a byte that flipped inside the numbers."""
    text = pem.from_one_line(bundle.service_account.reveal()).decode().splitlines()
    middle = len(text) // 2
    text[middle] = text[middle][::-1]
    with pytest.raises(TalopsError, match=r"do not match each other|a readable"):
        pem.key_from_pem("\n".join(text).encode())

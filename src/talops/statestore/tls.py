"""A self-signed certificate, for teams without a CA."""

from __future__ import annotations

import ipaddress
import socket
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from talops.files import PRIVATE, make_private_directory, write_atomic

if TYPE_CHECKING:
    from pathlib import Path

VALID_DAYS = 825
RENEW_BEFORE = timedelta(days=30)


@dataclass(frozen=True, slots=True)
class TlsFiles:
    certificate: Path
    key: Path
    client_ca: Path | None = None


def names_for(host: str) -> list[str]:
    """The names under which clients reach a server that listens on this address."""
    if host not in {"0.0.0.0", "::", ""}:  # noqa: S104  (compared, not used)
        return [host]
    return sorted({found for family, probe in _PROBES if (found := _own_address(family, probe))})


# Addresses that are reserved for documentation: the route to them is that to other machines.
_PROBES = ((socket.AF_INET, "192.0.2.1"), (socket.AF_INET6, "2001:db8::1"))


def _own_address(family: socket.AddressFamily, probe: str) -> str:
    """The address of this machine on its way to others; connecting a UDP socket sends nothing."""
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as probing:
            probing.connect((probe, 9))
            return str(probing.getsockname()[0])
    except OSError:
        return ""


def self_made(directory: Path, names: list[str]) -> TlsFiles:
    """The certificate in `directory`; created again if missing, expiring or lacking a name."""
    make_private_directory(directory)
    files = TlsFiles(directory / "certificate.pem", directory / "key.pem")
    wanted = {*names, "localhost", "127.0.0.1", "::1", socket.gethostname()}
    if not _serves(files, wanted):
        key = ec.generate_private_key(ec.SECP256R1())
        write_atomic(files.key, _pem(key), mode=PRIVATE)
        certificate = _certificate(key, sorted(wanted))
        write_atomic(files.certificate, certificate.public_bytes(serialization.Encoding.PEM))
    return files


def fingerprint(certificate: Path) -> str:
    loaded = x509.load_pem_x509_certificate(certificate.read_bytes())
    return loaded.fingerprint(hashes.SHA256()).hex(":")


def _serves(files: TlsFiles, wanted: set[str]) -> bool:
    if not (files.certificate.exists() and files.key.exists()):
        return False
    try:
        found = x509.load_pem_x509_certificate(files.certificate.read_bytes())
        names = found.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
        key = serialization.load_pem_private_key(files.key.read_bytes(), None)
    except (ValueError, x509.ExtensionNotFound):
        return False
    same_key = key.public_key() == found.public_key()
    in_time = found.not_valid_after_utc - datetime.now(UTC) > RENEW_BEFORE
    return same_key and in_time and wanted <= {str(name.value) for name in names}


def _certificate(key: ec.EllipticCurvePrivateKey, names: list[str]) -> x509.Certificate:
    now = datetime.now(UTC)
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "talops state server")])
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(minutes=5))
        .not_valid_after(now + timedelta(days=VALID_DAYS))
        .add_extension(x509.SubjectAlternativeName([_name(name) for name in names]), critical=False)
        # Its own CA, so that clients need to trust only this file.
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .sign(key, hashes.SHA256())
    )


def _name(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)


def _pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )

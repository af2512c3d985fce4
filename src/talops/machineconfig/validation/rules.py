"""Rules that several checks share."""

from __future__ import annotations

import re
from ipaddress import ip_address, ip_interface, ip_network
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from talops.errors import TalopsError
from talops.machineconfig.secrets import pem

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_NAME = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")
_PREFIX = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_DNS_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_-]{0,62}(\.[A-Za-z0-9_][A-Za-z0-9_-]{0,62})*[._]?")
_LONGEST_PREFIX = 253
# Kubelet settings that cannot be overridden.
_PROTECTED_KUBELET = (
    "apiVersion",
    "authentication",
    "authorization",
    "cgroupRoot",
    "kind",
    "kubeletCgroups",
    "port",
    "protectKernelDefaults",
    "resolvConf",
    "rotateCertificates",
    "seccompDefault",
    "staticPodPath",
    "systemCgroups",
)
EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")


def _parses(reader: Callable[[str], object], text: Any) -> bool:
    try:
        reader(str(text))
    except ValueError:
        return False
    return True


def is_address(text: Any) -> bool:
    return _parses(ip_address, text)


def is_network(text: Any) -> bool:
    return "/" in str(text) and _parses(lambda value: ip_network(value, strict=False), text)


def is_interface_address(text: Any) -> bool:
    return "/" in str(text) and _parses(ip_interface, text)


def is_subnet_filter(text: Any) -> bool:
    """An address or network, optionally excluded by a leading !."""
    plain = str(text).removeprefix("!")
    return is_address(plain) or is_network(plain)


def is_dns_name(text: str) -> bool:
    return bool(_DNS_NAME.fullmatch(text))


def is_endpoint(text: Any) -> bool:
    try:
        parts = urlsplit(str(text))
        return parts.scheme == "https" and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


def is_qualified_name(text: str) -> bool:
    prefix, slash, name = text.rpartition("/")
    if slash and not (len(prefix) <= _LONGEST_PREFIX and _PREFIX.fullmatch(prefix)):
        return False
    return bool(_NAME.fullmatch(name))


def is_label_value(text: str) -> bool:
    return not text or bool(_NAME.fullmatch(text))


def label_problems(labels: dict[str, Any]) -> Iterator[str]:
    for key, value in labels.items():
        if not is_qualified_name(str(key)):
            yield f'invalid machine node labels: name "{key}" is invalid'
        if not is_label_value(str(value)):
            yield f'invalid machine node labels: label value "{value}" is invalid'


def taint_problems(taints: dict[str, Any]) -> Iterator[str]:
    for key, value in taints.items():
        text, colon, effect = str(value).rpartition(":")
        if not is_qualified_name(str(key)):
            yield f'invalid machine node taints: name "{key}" is invalid'
        elif effect not in EFFECTS:
            yield f'invalid machine node taints: invalid taint effect: "{effect}"'
        elif colon and not is_label_value(text):
            yield f'invalid machine node taints: label value "{text}" is invalid'


def pair_problems(pair: Any, place: str) -> Iterator[str]:
    """A configured CA must be valid and match its key."""
    given = pair if isinstance(pair, dict) else {}
    crt, key = str(given.get("crt") or ""), str(given.get("key") or "")
    try:
        certificate = pem.certificate_from_pem(pem.from_one_line(crt)) if crt else None
        private = pem.key_from_pem(pem.from_one_line(key)) if key else None
    except TalopsError as error:
        yield f"{place} {error.what}"
        return
    if certificate and private and not pem.belong_together(certificate, private):
        yield f"{place}: the key does not match the certificate"


def pem_pair_problems(pair: Any, place: str) -> Iterator[str]:
    """A CA of a separate document, which contains plain PEM."""
    given = pair if isinstance(pair, dict) else {}
    cert, key = str(given.get("cert") or ""), str(given.get("key") or "")
    encoded = {"crt": pem.one_line(cert.encode()), "key": pem.one_line(key.encode())}
    yield from pair_problems(encoded, place)


def kubelet_problems(settings: Any) -> Iterator[str]:
    for field in _PROTECTED_KUBELET:
        if isinstance(settings, dict) and field in settings:
            yield f'kubelet configuration field "{field}" can\'t be overridden'


def host_dns_problems(dns: dict[str, Any], place: str) -> Iterator[str]:
    if dns.get("forwardKubeDNSToHost") and not dns.get("enabled"):
        yield (
            f"feature hostDNS.forwardKubeDNSToHost requires hostDNS.enabled to be true ({place})"
        )

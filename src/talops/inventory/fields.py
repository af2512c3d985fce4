"""The value types of an inventory; each error says what to write instead."""

from __future__ import annotations

import re
from ipaddress import IPv4Address, IPv4Network, ip_network
from typing import Annotated, Any

from pydantic import BeforeValidator, Field
from pydantic_core import PydanticCustomError

from talops.redaction import Redactor

VERSION = re.compile(r"v?([0-9]{1,5})\.([0-9]{1,5})\.([0-9]{1,5})(-(?:alpha|beta|rc)\.[0-9]{1,5})?")
DNS_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
HOST_NAME = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9]{0,61}[A-Za-z0-9])?")
MAC = re.compile(r"[0-9a-f]{2}(:[0-9a-f]{2}){5}", re.IGNORECASE)
UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
FINGERPRINT = re.compile(r"[A-Za-z0-9+/]{43}=")
BDF = re.compile(r"(?:([0-9a-f]{4}):)?([0-9a-f]{2}):([0-1][0-9a-f])(?:\.([0-7]))?", re.IGNORECASE)
MAPPING_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]+")
TOKEN_NAME = re.compile(r"[A-Za-z][A-Za-z0-9._-]+")
ROLE_NAME = re.compile(r"[A-Za-z0-9._-]+")
_POOL = r"[A-Za-z][A-Za-z0-9._-]*"
POOL_NAME = re.compile(rf"{_POOL}(?:/{_POOL}){{0,2}}")
STORAGE_NAME = re.compile(r"[a-z][a-z0-9._-]*[a-z0-9]", re.IGNORECASE)
USER_NAME = re.compile(r"[^\s:/!@]+@[A-Za-z][A-Za-z0-9._-]+")
SCHEMATIC = re.compile(r"[0-9a-f]{64}")
TAINT = re.compile(
    r"(?P<key>[\w./-]+)(?:=(?P<value>[\w.-]*))?:(?P<effect>NoSchedule|PreferNoSchedule|NoExecute)"
)


_MASK = Redactor()


def refuse(rule: str, what: str, hint: str) -> PydanticCustomError:
    # pydantic formats the template with the context: braces in user text must not reach it.
    return PydanticCustomError(rule, "{what}", {"what": what, "hint": hint})


def _text(value: Any, example: str) -> str:
    if isinstance(value, str):
        return value.strip()
    if isinstance(value, float | int) and not isinstance(value, bool):
        raise refuse("type", f"{value} is a number, not a string", f'quote it: "{value}"')
    raise refuse("type", f"expected a string, got {kind_of(value)}", f"write it as {example}")


def kind_of(value: Any) -> str:
    names = {bool: "true/false", dict: "a mapping", list: "a list", type(None): "nothing"}
    return names.get(type(value), f"{value!r}")


def _address(value: Any) -> IPv4Address:
    text = _text(value, "10.0.0.10")
    try:
        return IPv4Address(text)
    except ValueError:
        if "/" in text:
            raise refuse(
                "address", f"{text} has a prefix length", f"write {text.split('/')[0]} without it"
            ) from None
        if ":" in text:
            raise refuse(
                "address", f"{text} is not an IPv4 address", "use the node's IPv4 address"
            ) from None
        raise refuse(
            "address", f"{text!r} is not an IPv4 address", "write four numbers, like 10.0.0.10"
        ) from None


def _network(value: Any) -> IPv4Network:
    text = _text(value, "10.0.0.0/24")
    if "/" not in text:
        raise refuse("cidr", f"{text} has no prefix length", f"write it like {text}/24")
    try:
        network = ip_network(text, strict=False)
    except ValueError:
        raise refuse("cidr", f"{text!r} is not a network", "write it like 10.0.0.0/24") from None
    if not isinstance(network, IPv4Network):
        raise refuse("cidr", f"{text} is an IPv6 network", "talops supports IPv4 networks only")
    if str(network) != text:
        raise refuse("cidr", f"{text} has host bits set", f"write {network}")
    return network


def _version(value: Any) -> str:
    text = _text(value, '"v1.14.1"')
    if not VERSION.fullmatch(text):
        raise refuse(
            "version",
            f"{text!r} is not a version",
            "write all three numbers, like v1.14.1",
        )
    return text if text.startswith("v") else f"v{text}"


def _dns_label(value: Any) -> str:
    text = _text(value, "k8s-1")
    if not DNS_LABEL.fullmatch(text):
        raise refuse(
            "dns-name",
            f"{text!r} is not a DNS-1123 name",
            "use a-z, 0-9 and '-', starting and ending with a letter or digit, at most 63",
        )
    return text


def _mac(value: Any) -> str:
    text = _text(value, "bc:24:11:00:00:01")
    if not MAC.fullmatch(text):
        raise refuse(
            "mac", f"{text!r} is not a MAC address", "write six pairs, like bc:24:11:00:00:01"
        )
    if int(text[:2], 16) & 1:
        raise refuse(
            "mac",
            f"{text} is a multicast address: the lowest bit of its first byte is set",
            f"use an even first byte, like {int(text[:2], 16) & 0xFE:02x}{text[2:]}",
        )
    if text.replace(":", "").strip("0") == "":
        raise refuse(
            "mac", f"{text} is not the address of a NIC", "write the MAC address of the NIC"
        )
    return text.upper()


def _uuid(value: Any) -> str:
    text = _text(value, "4c4c4544-0051-3010-8052-b4c04f564231")
    if not UUID.fullmatch(text) or not text.replace("-", "").strip("0fF"):
        raise refuse(
            "uuid",
            f"{text!r} is not a system UUID",
            "copy it from the node: talops talos get systeminformation --insecure --nodes ADDRESS",
        )
    return text.lower()


def _fingerprint(value: Any) -> str:
    text = _text(value, "the base64 of a SHA-256")
    if not FINGERPRINT.fullmatch(text):
        raise refuse(
            "fingerprint",
            f"{text!r} is not a fingerprint: 43 characters of base64 and one =",
            "copy it from the console of the node, or from the message of talops up",
        )
    return text


def _schematic(value: Any) -> str:
    text = _text(value, "64 hexadecimal digits")
    if not SCHEMATIC.fullmatch(text):
        raise refuse(
            "schematic",
            f"{text[:12]}… ({len(text)} characters) is not a schematic id: 64 of 0-9 and a-f",
            "copy it from factory.talos.dev, or remove it and set `extensions`",
        )
    return text


def _gpu(value: Any) -> str:
    text = _text(value, '"0000:01:00.0"')
    if found := BDF.fullmatch(text):
        domain, bus, slot, function = found.groups()
        tail = f".{function}" if function is not None else ""
        return f"{domain or '0000'}:{bus}:{slot}{tail}".lower()
    if not MAPPING_NAME.fullmatch(text):
        raise refuse(
            "bdf",
            f"{text!r} is neither a PCI address nor the name of a mapping",
            'write it like "0000:01:00.0", or name a PCI mapping',
        )
    return text


def _token_name(value: Any) -> str:
    text = _text(value, "talops")
    if not TOKEN_NAME.fullmatch(text):
        raise refuse(
            "token-name",
            f"{text!r} is not the name of a Proxmox token",
            "use at least two of A-Z, a-z, 0-9, '.', '-' and '_', starting with a letter",
        )
    return text


def _role_name(value: Any) -> str:
    text = _text(value, "TalopsReader")
    if not ROLE_NAME.fullmatch(text) or text.upper().startswith("PVE"):
        raise refuse(
            "role-name",
            f"{text!r} is not the name of a Proxmox role that can be created",
            "use A-Z, a-z, 0-9, '.', '-' and '_'; Proxmox reserves names that start with PVE",
        )
    return text


def _pool_name(value: Any) -> str:
    text = _text(value, "k8s")
    if not POOL_NAME.fullmatch(text):
        raise refuse(
            "pool-name",
            f"{text!r} is not the name of a Proxmox pool",
            "use A-Z, a-z, 0-9, '.', '-' and '_', starting with a letter; at most three levels, "
            "like lab/k8s",
        )
    return text


def _storage_name(value: Any) -> str:
    text = _text(value, "local-lvm")
    if not STORAGE_NAME.fullmatch(text):
        raise refuse(
            "storage-name",
            f"{text!r} is not the name of a Proxmox storage",
            "use at least two of a-z, 0-9, '.', '-' and '_', starting with a letter and ending "
            "with a letter or digit",
        )
    return text


def _user_name(value: Any) -> str:
    text = _text(value, "talops@pve")
    if not USER_NAME.fullmatch(text):
        raise refuse(
            "user-name",
            f"{text!r} is not the name of a Proxmox user",
            "write it with its realm, like talops@pve, without ':' and '/'",
        )
    return text


def _taint(value: Any) -> str:
    text = _text(value, "dedicated=gpu:NoSchedule")
    if not TAINT.fullmatch(text):
        raise refuse(
            "taint",
            f"{text!r} is not a taint",
            "write key=value:Effect; the effect is NoSchedule, PreferNoSchedule or NoExecute",
        )
    return text


def _url(value: Any) -> str:
    text = _text(value, "https://pve.example:8006")
    if not re.fullmatch(r"https://[^\s/?#@]+(/[^\s?#]*)?", text):
        raise refuse(
            "url",
            f"{_MASK(text)!r} is not an https address",
            "write it like https://pve.example:8006, without user, password or query",
        )
    return text.rstrip("/")


def _endpoint(value: Any) -> str:
    """An address with an explicit scheme; http is allowed."""
    text = _text(value, "https://s3.example")
    if not re.fullmatch(r"https?://[^\s/?#@]+(/[^\s?#]*)?", text):
        raise refuse(
            "url",
            f"{_MASK(text)!r} is not an address",
            "write it like https://s3.example or http://nas.example:9000, without user, password "
            "or query",
        )
    return text.rstrip("/")


def _git_url(value: Any) -> str:
    text = _text(value, "https://git.example/me/home.git")
    if not re.fullmatch(r"(https://[^\s/?#@]+|ssh://[\w.-]+@[^\s/?#@]+)/[^\s?#]+", text):
        raise refuse(
            "git-url",
            f"{_MASK(text)!r} is not the address of a Git repository",
            "write https://git.example/me/home.git or ssh://git@git.example/me/home.git",
        )
    return text


def _sha256(value: Any) -> str:
    text = _text(value, "64 hexadecimal digits")
    if not SCHEMATIC.fullmatch(text):
        raise refuse(
            "checksum", f"{text[:12]}… is not a SHA-256: 64 of 0-9 and a-f", "talops gitops pin"
        )
    return text


def _unquoted(value: Any) -> Any:
    """Templates often quote numbers: "20" is 20."""
    quoted = isinstance(value, str) and re.fullmatch(r"[0-9]{1,12}", value.strip())
    return int(value) if quoted else value


def _prose(value: Any) -> str:
    return _text(value, "a string")


def _plain(value: Any) -> str:
    text = _prose(value)
    if "\n" in text:
        raise refuse("one-line", "this has more than one line", "write it on one line")
    return text


def _host_name(value: Any) -> str:
    text = _text(value, "pve")
    if not HOST_NAME.fullmatch(text):
        raise refuse(
            "host-name",
            f"{text!r} is not the name of a Proxmox node",
            "use a-z, A-Z, 0-9 and '-', as `pvesh get /nodes` lists it",
        )
    return text


Text = Annotated[str, BeforeValidator(_plain, json_schema_input_type=str)]
Prose = Annotated[str, BeforeValidator(_prose, json_schema_input_type=str)]
HostName = Annotated[str, BeforeValidator(_host_name, json_schema_input_type=str)]
Address = Annotated[IPv4Address, BeforeValidator(_address, json_schema_input_type=str)]
Network = Annotated[IPv4Network, BeforeValidator(_network, json_schema_input_type=str)]
Version = Annotated[str, BeforeValidator(_version, json_schema_input_type=str)]
DnsLabel = Annotated[str, BeforeValidator(_dns_label, json_schema_input_type=str)]
Mac = Annotated[str, BeforeValidator(_mac, json_schema_input_type=str)]
Uuid = Annotated[str, BeforeValidator(_uuid, json_schema_input_type=str)]
Fingerprint = Annotated[str, BeforeValidator(_fingerprint, json_schema_input_type=str)]
Schematic = Annotated[str, BeforeValidator(_schematic, json_schema_input_type=str)]
Gpu = Annotated[str, BeforeValidator(_gpu, json_schema_input_type=str)]
TokenName = Annotated[str, BeforeValidator(_token_name, json_schema_input_type=str)]
RoleName = Annotated[str, BeforeValidator(_role_name, json_schema_input_type=str)]
PoolName = Annotated[str, BeforeValidator(_pool_name, json_schema_input_type=str)]
StorageName = Annotated[str, BeforeValidator(_storage_name, json_schema_input_type=str)]
UserName = Annotated[str, BeforeValidator(_user_name, json_schema_input_type=str)]
Taint = Annotated[str, BeforeValidator(_taint, json_schema_input_type=str)]
Url = Annotated[str, BeforeValidator(_url, json_schema_input_type=str)]
Endpoint = Annotated[str, BeforeValidator(_endpoint, json_schema_input_type=str)]
GitUrl = Annotated[str, BeforeValidator(_git_url, json_schema_input_type=str)]
Sha256 = Annotated[str, BeforeValidator(_sha256, json_schema_input_type=str)]
Integer = Annotated[int, BeforeValidator(_unquoted, json_schema_input_type=int | str)]
Mtu = Annotated[Integer, Field(ge=576, le=9216)]
VlanTag = Annotated[Integer, Field(ge=1, le=4094)]
VmId = Annotated[Integer, Field(ge=100, le=999_999_999)]
Count = Annotated[Integer, Field(ge=1, le=1024)]
Mebibytes = Annotated[Integer, Field(ge=1)]
Gibibytes = Annotated[Integer, Field(ge=1)]
Seconds = Annotated[Integer, Field(ge=0, le=3600)]

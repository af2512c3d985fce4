"""The secrets of a cluster, in the format of talosctl's secrets.yaml."""

from __future__ import annotations

import base64
import re
import secrets
import string
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from talops.errors import TalopsError
from talops.machineconfig import yamltext
from talops.machineconfig.contract import Contract
from talops.machineconfig.documents.secret_parts import in_main_document
from talops.machineconfig.secrets import pem, pki, rotating
from talops.machineconfig.secrets.pki import Pair
from talops.machineconfig.secrets.rotating import Rotated, Rotation
from talops.redaction import Secret

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from datetime import datetime

_TOKEN_ALPHABET = string.digits + string.ascii_lowercase
_RANDOM_BYTES = 32
FIRST_SECRETBOX = "key2"
# What talosctl does not know, and ignores: present during a rotation, and after that of a key.
_OWN = "talops"
# A comment, because the file has the format of talosctl; sops keeps comments, encrypted.
_PINNED = "# Talos config contract, pinned when the cluster was created: v{}\n"
_PINNED_LINE = re.compile(r"^# Talos config contract, pinned [^:]*: v(\S+)$", re.MULTILINE)


@dataclass(frozen=True)
class Bundle:
    """All secrets of one cluster."""

    cluster_id: str
    cluster_secret: Secret
    bootstrap_token: Secret
    trustd_token: Secret
    etcd: Pair
    k8s: Pair
    aggregator: Pair
    os: Pair
    service_account: Secret
    secretbox: Secret = field(default_factory=lambda: Secret(""))
    # Only in clusters created before Talos 1.3; without it their Secrets cannot be decrypted.
    aescbc: Secret = field(default_factory=lambda: Secret(""))
    contract: Contract | None = field(default=None, compare=False)
    # The name by which values in etcd refer to the secretbox key; Talos' own at first.
    secretbox_name: str = FIRST_SECRETBOX
    rotations: Mapping[Rotated, Rotation] = field(default_factory=dict, hash=False)

    @property
    def trusted_os(self) -> str:
        """Every CA that may have signed the certificate of a node, in one line."""
        return rotating.trusted(self.os, self.rotations.get(Rotated.TALOS_CA))

    @property
    def trusted_k8s(self) -> str:
        return rotating.trusted(self.k8s, self.rotations.get(Rotated.KUBERNETES_CA))

    @property
    def secretbox_keys(self) -> tuple[tuple[str, str], ...]:
        """(name, secret) of every key that values in etcd may be encrypted with; the first one
        encrypts.
        """
        found = [(self.secretbox_name, self.secretbox.reveal())] if self.secretbox else []
        rotation = self.rotations.get(Rotated.ENCRYPTION)
        if rotation:
            found.append((rotation.name, rotation.other.key.reveal()))
        return tuple(found)

    def accepted(self, rotated: Rotated) -> tuple[Pair, ...]:
        """What is accepted besides the one in use."""
        return rotating.accepted(self.rotations, rotated)

    def secrets(self) -> Iterator[Secret]:
        """Every value to mask."""
        yield from (self.cluster_secret, self.bootstrap_token, self.trustd_token)
        yield from (self.service_account, self.secretbox, self.aescbc)
        yield from (pair.key for pair in (self.etcd, self.k8s, self.aggregator, self.os))
        yield from (rotation.other.key for rotation in self.rotations.values())

    def to_data(self) -> dict[str, Any]:
        inner = {"bootstraptoken": self.bootstrap_token.reveal()}
        if self.aescbc:
            inner["aescbcencryptionsecret"] = self.aescbc.reveal()
        if self.secretbox:
            inner["secretboxencryptionsecret"] = self.secretbox.reveal()
        own: dict[str, Any] = {}
        if self.secretbox_name != FIRST_SECRETBOX:
            own["secretboxKeyName"] = self.secretbox_name
        if self.rotations:
            own["rotation"] = {str(n): r.to_data() for n, r in self.rotations.items()}
        return {
            "cluster": {"id": self.cluster_id, "secret": self.cluster_secret.reveal()},
            "secrets": inner,
            "trustdinfo": {"token": self.trustd_token.reveal()},
            "certs": {
                "etcd": _pair_data(self.etcd),
                "k8s": _pair_data(self.k8s),
                "k8saggregator": _pair_data(self.aggregator),
                "k8sserviceaccount": {"key": self.service_account.reveal()},
                "os": _pair_data(self.os),
            },
            **({_OWN: own} if own else {}),
        }

    def to_yaml(self) -> str:
        pinned = _PINNED.format(self.contract) if self.contract else ""
        return pinned + yamltext.dump(self.to_data())


def generate(now: datetime, contract: Contract | None = None) -> Bundle:
    """A new bundle; without a contract, one that every Talos version accepts."""
    return Bundle(
        contract=contract,
        cluster_id=new_cluster_id(contract),
        cluster_secret=_random_secret(),
        bootstrap_token=_token(),
        secretbox=_random_secret(),
        trustd_token=_token(),
        etcd=pki.etcd_ca(now),
        k8s=pki.kubernetes_ca(now),
        aggregator=pki.aggregator_ca(now),
        os=pki.talos_ca(now),
        service_account=pki.service_account_key(),
    )


def new_cluster_id(contract: Contract | None) -> str:
    """URL-safe base64 up to contract 1.13, standard base64 from 1.14 on."""
    standard = contract is not None and contract.splits_documents
    encode = base64.b64encode if standard else base64.urlsafe_b64encode
    return encode(secrets.token_bytes(_RANDOM_BYTES)).decode()


def from_yaml(text: str, *, where: str) -> Bundle:
    """Read and validate a secrets.yaml of talops or talosctl."""
    data = yamltext.load(text, where=where)
    if not isinstance(data, dict):
        raise TalopsError("not a secrets bundle", where=where)
    if "sops" in data:
        raise TalopsError(
            "the file is still encrypted", where=where, hint="decrypt it first: sops decrypt FILE"
        )
    return replace(from_data(data, where=where), contract=_pinned(text, where))


def _pinned(text: str, where: str) -> Contract | None:
    line = _PINNED_LINE.search(text)
    if line is None:
        return None
    try:
        return Contract(line[1])
    except ValueError:
        raise TalopsError(
            f"the cluster's contract v{line[1]} is not supported by this version of talops",
            where=where,
            hint="use the version of talops that created this file, or a newer one",
        ) from None


def from_data(data: dict[str, Any], *, where: str) -> Bundle:
    reader = _Reader(data, where)
    bundle = Bundle(
        cluster_id=reader.text("cluster.id"),
        cluster_secret=reader.secret("cluster.secret"),
        bootstrap_token=reader.secret("secrets.bootstraptoken"),
        secretbox=reader.secret("secrets.secretboxencryptionsecret", optional=True),
        aescbc=reader.secret("secrets.aescbcencryptionsecret", optional=True),
        trustd_token=reader.secret("trustdinfo.token"),
        etcd=reader.pair("certs.etcd"),
        k8s=reader.pair("certs.k8s"),
        aggregator=reader.pair("certs.k8saggregator"),
        os=reader.pair("certs.os"),
        service_account=reader.secret("certs.k8sserviceaccount.key"),
        secretbox_name=reader.text(f"{_OWN}.secretboxKeyName", optional=True) or FIRST_SECRETBOX,
        rotations=rotating.from_data(data.get(_OWN), where=where),
    )
    reader.finish()
    check(bundle, where=where)
    return bundle


def from_machine_config(documents: list[Any], *, where: str) -> Bundle:
    """The bundle of a running cluster, from the machine config of a control plane."""
    known = [document for document in documents if isinstance(document, dict)]
    main = next((document for document in known if "machine" in document), None)
    if main is None:
        raise TalopsError("not a machine config", where=where)
    if (main.get("machine") or {}).get("type") not in {"controlplane", "init"}:
        raise TalopsError(
            "not the config of a control plane: only those contain all secrets",
            where=where,
            hint="use a control plane's config: talosctl get machineconfig -o jsonpath={.spec}",
        )
    whole = in_main_document(main, known)
    reader = _Reader(whole, where)
    bundle = Bundle(
        # The version that wrote the older format is unknown.
        contract=None if whole == main else Contract.V1_14,
        cluster_id=reader.text("cluster.id"),
        cluster_secret=reader.secret("cluster.secret"),
        bootstrap_token=reader.secret("cluster.token"),
        secretbox=reader.secret("cluster.secretboxEncryptionSecret", optional=True),
        aescbc=reader.secret("cluster.aescbcEncryptionSecret", optional=True),
        trustd_token=reader.secret("machine.token"),
        etcd=reader.pair("cluster.etcd.ca"),
        k8s=reader.pair("cluster.ca"),
        aggregator=reader.pair("cluster.aggregatorCA"),
        os=reader.pair("machine.ca"),
        service_account=reader.secret("cluster.serviceAccount.key"),
    )
    reader.finish()
    check(bundle, where=where)
    return bundle


def check(bundle: Bundle, *, where: str) -> None:
    """Reject a bundle whose keys do not match its certificates."""
    problems: list[str] = []
    pairs = {
        "etcd CA": bundle.etcd,
        "Kubernetes CA": bundle.k8s,
        "aggregator CA": bundle.aggregator,
        "Talos CA": bundle.os,
    }
    for name, pair in pairs.items():
        try:
            if not pem.belong_together(pair.certificate, pair.private_key):
                problems.append(f"{name}: the key does not match the certificate")
        except TalopsError as error:
            problems.append(f"{name} {error.what}")
    try:
        pem.key_from_pem(pem.from_one_line(bundle.service_account.reveal()))
    except TalopsError as error:
        problems.append(f"service account key {error.what}")
    if not bundle.secretbox and not bundle.aescbc:
        problems.append("neither secretboxencryptionsecret nor aescbcencryptionsecret is set")
    if problems:
        raise TalopsError("secrets bundle is damaged: " + "; ".join(problems), where=where)


class _Reader:
    """Reads values by dotted path and collects the missing ones for one error."""

    def __init__(self, data: dict[str, Any], where: str) -> None:
        self._data = data
        self._where = where
        self._missing: list[str] = []

    def text(self, path: str, *, optional: bool = False) -> str:
        value: Any = self._data
        for part in path.split("."):
            value = value.get(part) if isinstance(value, dict) else None
        if isinstance(value, str) and value:
            return value
        if not optional:
            self._missing.append(path)
        return ""

    def secret(self, path: str, *, optional: bool = False) -> Secret:
        return Secret(self.text(path, optional=optional))

    def pair(self, path: str) -> Pair:
        return Pair(crt=self.text(f"{path}.crt"), key=self.secret(f"{path}.key"))

    def finish(self) -> None:
        if self._missing:
            raise TalopsError("secrets are missing: " + ", ".join(self._missing), where=self._where)


def _pair_data(pair: Pair) -> dict[str, str]:
    return {"crt": pair.crt, "key": pair.key.reveal()}


def _random_secret() -> Secret:
    return Secret(base64.b64encode(secrets.token_bytes(_RANDOM_BYTES)).decode())


def _token() -> Secret:
    def word(length: int) -> str:
        return "".join(secrets.choice(_TOKEN_ALPHABET) for _ in range(length))

    return Secret(f"{word(6)}.{word(16)}")

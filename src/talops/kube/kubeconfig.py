"""A kubeconfig in memory; its private key is never written to a disk."""

from __future__ import annotations

import base64
import binascii
import contextlib
import os
import ssl
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ruamel.yaml.error import YAMLError

from talops import quickyaml
from talops.errors import TalopsError
from talops.redaction import Secret

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(frozen=True)
class Kubeconfig:
    """The API endpoint and the credentials: client certificate, token, or both."""

    server: str
    context: str
    ca: str | None = None
    certificate: str | None = None
    key: Secret | None = None
    token: Secret | None = None
    server_name: str | None = None
    insecure: bool = False

    def ssl_context(self) -> ssl.SSLContext:
        try:
            context = ssl.create_default_context(cadata=self.ca)
            if self.insecure:
                context.check_hostname = False
                context.verify_mode = ssl.CERT_NONE
            if self.certificate and self.key:
                self._load_client_certificate(context)
        except (ssl.SSLError, ValueError) as error:
            raise TalopsError(
                f"invalid certificate or key: {error}",
                where=f"kubeconfig, context {self.context}",
                hint="fetch the kubeconfig again: talops up --only kubeconfig",
            ) from None
        return context

    def _load_client_certificate(self, context: ssl.SSLContext) -> None:
        assert self.certificate
        assert self.key
        # OpenSSL needs a path; a memfd has one and leaves nothing behind.
        with _in_memory(self.certificate + "\n" + self.key.reveal()) as path:
            # An empty password, so that OpenSSL does not prompt for an encrypted key.
            context.load_cert_chain(path, password="")


def load(path: Path, context: str | None = None) -> Kubeconfig | None:
    """None if the file does not exist."""
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise TalopsError(f"cannot be read: {error}", where=str(path)) from error
    return parse(text, where=str(path), folder=path.parent, context=context)


def parse(
    text: str, *, where: str = "kubeconfig", folder: Path | None = None, context: str | None = None
) -> Kubeconfig:
    try:
        document = quickyaml.load(text)
    except YAMLError as error:
        raise TalopsError(f"invalid YAML: {str(error).splitlines()[0]}", where=where) from None
    try:
        return _read(document, folder or Path(), context)
    except (binascii.Error, UnicodeError):
        raise TalopsError("contains data that is not valid base64", where=where) from None
    except (LookupError, TypeError, AttributeError, ValueError) as error:
        raise TalopsError(
            f"not a kubeconfig: {error!r} is missing or invalid", where=where
        ) from None
    except OSError as error:
        raise TalopsError(f"refers to a file that cannot be read: {error}", where=where) from None


def _read(document: dict[str, Any], folder: Path, wanted: str | None) -> Kubeconfig:
    name = wanted or document["current-context"]
    context = _named(document, "contexts", name)["context"]
    cluster = _named(document, "clusters", context["cluster"])["cluster"]
    user = _named(document, "users", context["user"])["user"] or {}
    key = _data(user, "client-key", folder)
    token = user.get("token")
    return Kubeconfig(
        cluster["server"].rstrip("/"),
        name,
        _data(cluster, "certificate-authority", folder),
        _data(user, "client-certificate", folder),
        Secret(key) if key else None,
        Secret(token) if token else None,
        cluster.get("tls-server-name"),
        bool(cluster.get("insecure-skip-tls-verify")),
    )


def _named(document: dict[str, Any], section: str, name: str) -> dict[str, Any]:
    for entry in document[section]:
        if entry["name"] == name:
            return dict(entry)
    raise KeyError(f"{section}: {name}")


def _data(source: dict[str, Any], name: str, folder: Path) -> str | None:
    """Inline base64, or the content of the referenced file."""
    inline = source.get(f"{name}-data")
    if inline:
        return base64.b64decode(inline, validate=True).decode()
    file = source.get(name)
    return (folder / file).read_text(encoding="utf-8") if file else None


@contextlib.contextmanager
def _in_memory(text: str) -> Iterator[str]:
    descriptor = os.memfd_create("client-certificate")
    try:
        os.write(descriptor, text.encode())
        yield f"/proc/self/fd/{descriptor}"
    finally:
        os.close(descriptor)

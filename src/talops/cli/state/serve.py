"""`talops state serve`: the HTTP state server."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from talops.cli.output import note

if TYPE_CHECKING:
    from talops.statestore.encryption.keys import Keyring
    from talops.statestore.server import Settings
    from talops.statestore.tls import TlsFiles

# The variables that obstore, OpenTofu and the AWS tools share.
_S3_VARIABLES = (
    "AWS_ACCESS_KEY_ID",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN",
    "AWS_REGION",
    "AWS_ENDPOINT_URL",
    "AWS_ALLOW_HTTP",
)


# What is served
Store = Annotated[
    str, typer.Option(help="Store: sqlite:DIRECTORY, postgres://HOST/DB or s3://BUCKET/PREFIX.")
]
Listen = Annotated[str, typer.Option(help="Address and port to listen on.")]
# Who may connect
Users = Annotated[Path | None, typer.Option(help="Users file; see `talops state user add`.")]
NoUsers = Annotated[
    bool, typer.Option("--no-users", help="Disable authentication (loopback only).")
]
Certificate = Annotated[Path | None, typer.Option(help="PEM certificate chain.")]
PrivateKey = Annotated[Path | None, typer.Option(help="PEM private key.")]
SelfMade = Annotated[
    Path | None,
    typer.Option(help="Create and store a self-signed certificate in this directory."),
]
TlsName = Annotated[
    list[str] | None,
    typer.Option(help="Another name or address for that certificate (repeatable)."),
]
BehindProxy = Annotated[
    bool,
    typer.Option("--plain-behind-proxy", help="Allow plain HTTP off loopback: a proxy adds TLS."),
]
TrustedProxy = Annotated[
    list[str] | None,
    typer.Option(help="Proxy whose X-Forwarded-For is used: address or network (repeatable)."),
]
ClientCa = Annotated[
    Path | None, typer.Option(help="Require client certificates signed by this CA.")
]
# How states are kept
KeyFile = Annotated[
    Path | None,
    typer.Option(help="Encrypt at rest; one key per line (base64, hex, age), the first encrypts."),
]
AcceptPlaintext = Annotated[
    bool,
    typer.Option("--accept-plaintext", help="Accept states from before encryption was enabled."),
]
MaxBody = Annotated[int, typer.Option(min=1, help="Maximum size of a state in MB.")]
KeepVersions = Annotated[int, typer.Option(min=0, help="Versions to keep (0 = all).")]
KeepDays = Annotated[float, typer.Option(min=0, help="Days to keep versions (0 = forever).")]


def register(group: typer.Typer) -> None:
    group.command("serve")(serve)


def serve(
    *,
    store: Store = "sqlite:talops-state",
    listen: Listen = "127.0.0.1:8443",
    users: Users = None,
    no_users: NoUsers = False,
    tls_certificate: Certificate = None,
    tls_key: PrivateKey = None,
    tls_self_made: SelfMade = None,
    tls_name: TlsName = None,
    client_ca: ClientCa = None,
    plain_behind_proxy: BehindProxy = False,
    trusted_proxy: TrustedProxy = None,
    key_file: KeyFile = None,
    accept_plaintext: AcceptPlaintext = False,
    max_body_mb: MaxBody = 64,
    keep_versions: KeepVersions = 0,
    keep_days: KeepDays = 0,
) -> None:
    """Serve OpenTofu and Terraform states over HTTP."""
    from talops.redaction import Secret
    from talops.statestore.access.network import networks
    from talops.statestore.application import MEGABYTE, Limits
    from talops.statestore.model import Retention
    from talops.statestore.server import Settings
    from talops.statestore.stores import StoreAddress
    from talops.statestore.tls import names_for

    _require_users(users, no_users=no_users)
    host, port = _listen_address(listen)
    names = [*names_for(host), *(tls_name or ())]
    options = {name: os.environ[name] for name in _S3_VARIABLES if name in os.environ}
    settings = Settings(
        host,
        port,
        StoreAddress(Secret(store), options),
        None if no_users else users,
        _keyring(key_file),
        _tls(tls_certificate, tls_key, tls_self_made, client_ca, names),
        Limits(
            max_body_mb * MEGABYTE,
            Retention(keep_versions, keep_days),
            networks(trusted_proxy or ()),
        ),
        plain_behind_proxy,
        accept_plaintext,
    )
    _run(settings)


def _require_users(users: Path | None, *, no_users: bool) -> None:
    from talops.errors import TalopsError

    if users is None and not no_users:
        raise TalopsError(
            "--users or --no-users is required",
            hint="talops state user add NAME --users users.json, then serve --users users.json",
        )


def _run(settings: Settings) -> None:
    """Serve until a signal, then finish the open requests."""
    import uvloop

    from talops.statestore.server import serve as run

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(run(settings, lambda address: note(f"serving states at {address}"), note))
    note("all requests answered, store closed")


def _listen_address(text: str) -> tuple[str, int]:
    host, _, port = text.rpartition(":")
    if not host or not port.isdigit():
        raise typer.BadParameter("expected an address and a port, like 127.0.0.1:8443")
    return host.strip("[]"), int(port)


def _keyring(path: Path | None) -> Keyring | None:
    """Keys from --key-file, or from TALOPS_STATE_KEY (for containers)."""
    from talops.errors import TalopsError
    from talops.statestore.access.private import require_private
    from talops.statestore.encryption.keys import Keyring, parse_keys

    if path is None:
        text = os.environ.get("TALOPS_STATE_KEY", "")
        return Keyring(parse_keys(text)) if text else None
    try:
        require_private(path, "the key file")
        return Keyring(parse_keys(path.read_text(encoding="utf-8")))
    except OSError as error:
        raise TalopsError(f"cannot read the key file: {error.strerror}", where=str(path)) from error


def _tls(
    certificate: Path | None,
    key: Path | None,
    own: Path | None,
    client_ca: Path | None,
    names: list[str],
) -> TlsFiles | None:
    from dataclasses import replace

    from talops.statestore.tls import TlsFiles, fingerprint, self_made

    if own is not None:
        files = self_made(own, names)
        note(f"certificate {files.certificate}, SHA-256 {fingerprint(files.certificate)}")
        return replace(files, client_ca=client_ca)
    if certificate is None and key is None and client_ca is None:
        return None
    if certificate is None or key is None:
        raise typer.BadParameter("--tls-certificate and --tls-key must be used together")
    return TlsFiles(certificate, key, client_ca)

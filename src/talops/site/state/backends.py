"""Where the states of a site are kept: as its inventory says, or where a command names it."""

from __future__ import annotations

import getpass
import socket
from typing import TYPE_CHECKING

from talops.errors import TalopsError

if TYPE_CHECKING:
    from pathlib import Path

    from talops.site.site import ClosedSite
    from talops.statestore.backends.http import HttpSettings
    from talops.statestore.backends.interface import StateBackend
    from talops.statestore.backends.locks import HttpLocks
    from talops.statestore.backends.s3 import S3Settings
    from talops.statestore.backends.s3_locks import S3Locks
    from talops.statestore.model import Retention


def backend_of(
    site: ClosedSite, place: str | None = None, ca_file: Path | None = None
) -> StateBackend:
    """`place` is local, http(s)://HOST/PROJECT or s3://BUCKET/PREFIX; `ca_file` its authority."""
    spelt = place or site.cluster.state.kind
    ca_file = ca_file or _ca_file(site, spelt)
    if spelt == "local":
        from talops.site.state.copies import local_backend

        return local_backend(site.root, site.cluster)
    if spelt.startswith("http"):
        from talops.statestore.backends.http import HttpBackend

        url = place or site.cluster.state.url or ""
        return HttpBackend(_http(site, url, ca_file), _who())
    if spelt.startswith("s3"):
        from talops.statestore.backends.s3 import S3Backend

        return S3Backend(*_s3(site, place, ca_file), _who())
    raise TalopsError(
        f"{spelt} is not a state backend",
        hint="use local, https://HOST/PROJECT or s3://BUCKET/PREFIX",
    )


def run_locks(site: ClosedSite) -> HttpLocks | S3Locks | None:
    """Locks stored with the states; None if the states are local files."""
    kind = site.cluster.state.kind
    ca_file = _ca_file(site, kind)
    if kind == "http":
        from talops.statestore.backends.locks import HttpLocks

        return HttpLocks(_http(site, site.cluster.state.url or "", ca_file), _who())
    if kind == "s3":
        from talops.statestore.backends.s3_locks import S3Locks

        return S3Locks(*_s3(site, None, ca_file), _who())
    return None


def _ca_file(site: ClosedSite, place: str) -> Path | None:
    """The inventory's is for the kind of place that the inventory names."""
    given, kind = site.cluster.state.ca_file, site.cluster.state.kind
    return site.root / given if given and place.startswith(kind) else None


def _http(site: ClosedSite, url: str, ca_file: Path | None) -> HttpSettings:
    from talops.redaction import Secret
    from talops.statestore.backends.http import HttpSettings

    credentials = site.credentials
    username = site.environment.get("TF_HTTP_USERNAME", "")
    password = site.environment.get("TF_HTTP_PASSWORD", "")
    if not username and "tfstate_username" in credentials:
        username = credentials["tfstate_username"].reveal()
    secret = Secret(password) if password else credentials.get("tfstate_password")
    return HttpSettings(url, _names(site), username, secret, ca_file)


def _s3(site: ClosedSite, place: str | None, ca_file: Path | None) -> tuple[S3Settings, Retention]:
    from talops.render.backend import backend_environment, s3_keys
    from talops.render.layers import hypervisors
    from talops.statestore.backends.s3 import S3Settings
    from talops.statestore.model import Retention

    cluster, credentials = site.cluster, site.credentials
    bucket, prefix = cluster.state.bucket or "", cluster.state.prefix
    options = {name: value for name, value in site.environment.items() if name.startswith("AWS_")}
    if cluster.state.kind == "s3":
        options = {**backend_environment(cluster, hypervisors(cluster), credentials), **options}
        options.setdefault("AWS_REGION", cluster.state.region or "auto")
    elif cluster.state.kind == "local":  # beside a state server, the keys would be its own
        options = {**s3_keys(credentials), **options}
    if ca_file:
        options["AWS_CA_BUNDLE"] = str(ca_file)
    if place and place.startswith("s3://"):
        bucket, _, prefix = place.removeprefix("s3://").partition("/")
    if endpoint := options.pop("AWS_ENDPOINT_URL_S3", None):
        options["AWS_ENDPOINT_URL"] = endpoint
    keep = Retention(cluster.state.backups, cluster.state.backup_days)
    wanted = {name: options[name] for name in _S3_OPTIONS if name in options}
    return S3Settings(bucket, prefix, _names(site), wanted), keep


def backup_bucket(site: ClosedSite) -> S3Settings:
    """That of `backup: store`, with the keys of an S3 state or AWS_* of the environment."""
    from dataclasses import replace

    backup = site.cluster.backup
    found, _ = _s3(site, backup.store, _ca_file(site, "s3"))
    given = {"AWS_ENDPOINT_URL": backup.endpoint, "AWS_REGION": backup.region}
    named = {name: value for name, value in given.items() if value}
    return replace(found, options={"AWS_REGION": "auto", **found.options, **named})


_S3_OPTIONS = (
    "AWS_ACCESS_KEY_ID",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN",
    "AWS_REGION",
    "AWS_ENDPOINT_URL",
    "AWS_CA_BUNDLE",
)


def _names(site: ClosedSite) -> tuple[str, ...]:
    from talops.render.layers import layers

    return tuple(layer.state for layer in layers(site.cluster))


def _who() -> str:
    return f"{getpass.getuser()}@{socket.gethostname()}"

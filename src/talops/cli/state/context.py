"""The backend of a `talops state` command: from the inventory, or from an option."""

from __future__ import annotations

import asyncio
import getpass
import os
import socket
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from talops.errors import TalopsError

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from talops.inventory.model import Cluster
    from talops.redaction import Secret
    from talops.statestore.backends.http import HttpSettings
    from talops.statestore.backends.interface import StateBackend
    from talops.statestore.backends.locks import NamedLocks
    from talops.statestore.backends.s3 import S3Settings
    from talops.statestore.model import Retention

T = TypeVar("T")


def with_backend(
    directory: Path | None,
    work: Callable[[StateBackend], Awaitable[T]],
    place: str | None = None,
    ca_file: Path | None = None,
) -> T:
    """Open the backend, run `work`, close it. `place` overrides the inventory."""
    root = (directory or Path.cwd()).absolute()

    async def run() -> T:
        backend = await open_backend(root, place, ca_file)
        try:
            return await work(backend)
        finally:
            await backend.close()

    return asyncio.run(run())


async def open_backend(
    root: Path, place: str | None = None, ca_file: Path | None = None
) -> StateBackend:
    """`place` is local, http(s)://HOST/PROJECT or s3://BUCKET/PREFIX; `ca_file` its authority."""
    from talops.cli.infra.context import inventory_of, read_credentials

    cluster = inventory_of(root)
    if cluster is None:
        raise TalopsError(
            "this directory contains no inventory",
            where=str(root),
            hint="set its directory with -C, or create one: talops init",
        )
    remote = (place or cluster.state.kind) != "local"
    credentials = await read_credentials(cluster, root) if remote else {}
    return backend_of(cluster, root, credentials, place, ca_file)


def backend_of(
    cluster: Cluster,
    root: Path,
    credentials: Mapping[str, Secret],
    place: str | None = None,
    ca_file: Path | None = None,
) -> StateBackend:
    spelt = place or cluster.state.kind
    ca_file = ca_file or _ca_file(cluster, root, spelt)
    if spelt == "local":
        from talops.site.state_copies import local_backend

        return local_backend(root, cluster)
    if spelt.startswith("http"):
        from talops.statestore.backends.http import HttpBackend

        url = place or cluster.state.url or ""
        return HttpBackend(_http(cluster, credentials, url, ca_file), _who())
    if spelt.startswith("s3"):
        from talops.statestore.backends.s3 import S3Backend

        return S3Backend(*_s3(cluster, credentials, place, ca_file), _who())
    raise TalopsError(
        f"{spelt} is not a state backend",
        hint="use local, https://HOST/PROJECT or s3://BUCKET/PREFIX",
    )


def run_locks(cluster: Cluster, root: Path, credentials: Mapping[str, Secret]) -> NamedLocks | None:
    """Locks stored with the states; None if the states are local files."""
    ca_file = _ca_file(cluster, root, cluster.state.kind)
    if cluster.state.kind == "http":
        from talops.statestore.backends.locks import HttpLocks

        return HttpLocks(_http(cluster, credentials, cluster.state.url or "", ca_file), _who())
    if cluster.state.kind == "s3":
        from talops.statestore.backends.s3_locks import S3Locks

        return S3Locks(*_s3(cluster, credentials, None, ca_file), _who())
    return None


def _ca_file(cluster: Cluster, root: Path, place: str) -> Path | None:
    """The inventory's is for the kind of place that the inventory names."""
    given, kind = cluster.state.ca_file, cluster.state.kind
    return root / given if given and place.startswith(kind) else None


def _http(
    cluster: Cluster, credentials: Mapping[str, Secret], url: str, ca_file: Path | None
) -> HttpSettings:
    from talops.redaction import Secret
    from talops.statestore.backends.http import HttpSettings

    username = os.environ.get("TF_HTTP_USERNAME", "")
    password = os.environ.get("TF_HTTP_PASSWORD", "")
    if not username and "tfstate_username" in credentials:
        username = credentials["tfstate_username"].reveal()
    secret = Secret(password) if password else credentials.get("tfstate_password")
    return HttpSettings(url, _names(cluster), username, secret, ca_file)


def _s3(
    cluster: Cluster, credentials: Mapping[str, Secret], place: str | None, ca_file: Path | None
) -> tuple[S3Settings, Retention]:
    from talops.render.backend import backend_environment, s3_keys
    from talops.render.layers import HYPERVISORS
    from talops.statestore.backends.s3 import S3Settings
    from talops.statestore.model import Retention

    bucket, prefix = cluster.state.bucket or "", cluster.state.prefix
    options = {name: value for name, value in os.environ.items() if name.startswith("AWS_")}
    if cluster.state.kind == "s3":
        options = {**backend_environment(cluster, HYPERVISORS, credentials), **options}
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
    return S3Settings(bucket, prefix, _names(cluster), wanted), keep


_S3_OPTIONS = (
    "AWS_ACCESS_KEY_ID",
    "AWS_SECRET_ACCESS_KEY",
    "AWS_SESSION_TOKEN",
    "AWS_REGION",
    "AWS_ENDPOINT_URL",
    "AWS_CA_BUNDLE",
)


def _names(cluster: Cluster) -> tuple[str, ...]:
    from talops.render.layers import layers

    return tuple(layer.state for layer in layers(cluster))


def _who() -> str:
    return f"{getpass.getuser()}@{socket.gethostname()}"

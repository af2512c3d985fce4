"""The operations on an S3 bucket, and a check that it supports them."""

from __future__ import annotations

import contextlib
import uuid
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import obstore
from obstore import exceptions as failures
from obstore.store import S3Store as Client

from talops.errors import DeniedError, PreflightError, TalopsError, UnreachableError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator, Mapping, Sequence

PIECE = 1024 * 1024
CA_BUNDLE = "AWS_CA_BUNDLE"
_REFUSED = (failures.PermissionDeniedError, failures.UnauthenticatedError)


class ChangedError(Exception):
    """The object changed since it was read."""


class Bucket:
    """`options` are AWS_* variables; AWS_CA_BUNDLE names the authority of the store's certificate,
    as it does for OpenTofu.
    """

    def __init__(self, name: str, prefix: str, options: Mapping[str, str]) -> None:
        config: Any = {key.lower(): value for key, value in options.items() if key != CA_BUNDLE}
        plain = config.get("aws_endpoint_url", "").startswith("http://")
        pem = _authority(options)
        how: Any = {"allow_http": plain, "timeout": "60s"} | (
            {"root_certificate": pem} if pem else {}
        )
        try:
            self._client = Client(
                name,
                prefix=prefix or None,
                config=config,
                client_options=how,
            )
        except (failures.BaseError, ValueError) as error:
            if pem and "root_certificate" in str(error):
                raise _bad_authority("it contains no certificate", options) from None
            raise TalopsError(
                f"cannot use the bucket {name}: {type(error).__name__}",
                hint="check bucket, region and endpoint of state: in cluster.yaml",
            ) from None

    async def get(self, key: str, *, most: int | None = None) -> tuple[bytes, str] | None:
        """`most`: a larger object is an error, and is not read."""
        with _translated(key):
            try:
                found = await obstore.get_async(self._client, key)
            except FileNotFoundError:
                return None
            if most is not None and found.meta["size"] > most:
                raise TalopsError(
                    f"this object is larger than {most >> 20} MiB: {found.meta['size']} bytes",
                    where=key,
                )
            etag = found.meta["e_tag"]
            if not etag:
                raise TalopsError("the S3 store returned no ETag", where=key)
            return bytes(await found.bytes_async()), etag

    async def stream(self, key: str) -> AsyncIterator[bytes]:
        with _translated(key):
            try:
                found = await obstore.get_async(self._client, key)
            except FileNotFoundError:
                raise TalopsError(
                    "the body of a state is missing", where=key, hint="talops state rollback"
                ) from None
            async for piece in found.stream(min_chunk_size=PIECE):
                yield bytes(piece)

    async def swap(self, key: str, data: bytes, etag: str | None) -> None:
        """Replace the object with this ETag; None: the object must not exist."""
        with _translated(key):
            try:
                await obstore.put_async(
                    self._client,
                    key,
                    data,
                    mode="create" if etag is None else {"e_tag": etag},
                    use_multipart=False,
                )
            except (failures.AlreadyExistsError, failures.PreconditionError):
                raise ChangedError from None
            except FileNotFoundError:  # some stores answer this if the object was deleted meanwhile
                raise ChangedError from None

    async def put(self, key: str, data: bytes | IO[bytes]) -> None:
        with _translated(key):
            await obstore.put_async(self._client, key, data, mode="overwrite")

    async def delete(self, keys: list[str]) -> None:
        for key in keys:
            with _translated(key), contextlib.suppress(FileNotFoundError):
                await obstore.delete_async(self._client, key)

    async def list(self, prefix: str) -> list[tuple[str, float]]:
        """Keys and their modification times."""
        with _translated(prefix):
            found = await obstore.list(self._client, prefix=prefix).collect_async()
            return [(entry["path"], entry["last_modified"].timestamp()) for entry in found]

    async def entries(self) -> Sequence[tuple[str, int, float]]:
        """All keys with their sizes and modification times."""
        with _translated(""):
            found = await obstore.list(self._client).collect_async()
            return [(e["path"], e["size"], e["last_modified"].timestamp()) for e in found]

    async def prove(self) -> None:
        """A store that ignores conditions would let two clients hold one lock."""
        key = f"probe/{uuid.uuid4().hex}"
        await self.swap(key, b"1", None)
        try:
            first = await self.get(key)
            assert first is not None
            held = await self._refuses(key, None)
            await self.swap(key, b"2", first[1])
            held = held and await self._refuses(key, first[1])
        except ChangedError:
            held = False
        finally:
            await self.delete([key])
        if not held:
            raise PreflightError(
                "this S3 store does not support conditional writes (If-Match, If-None-Match)",
                hint="use MinIO, R2, Garage 2 or AWS, or store states in sqlite: or postgres:",
            )

    async def _refuses(self, key: str, etag: str | None) -> bool:
        try:
            await self.swap(key, b"stale", etag)
        except ChangedError:
            return True
        return False


@contextlib.contextmanager
def _translated(key: str) -> Iterator[None]:
    """Translate errors of obstore; their texts contain URLs and responses, so only the type."""
    try:
        yield
    except _REFUSED as error:
        raise DeniedError(
            f"the S3 store refused the request: {type(error).__name__}",
            where=key,
            hint="check tfstate_username and tfstate_password (talops secrets edit), or "
            "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY",
        ) from None
    except (failures.BaseError, OSError, TimeoutError) as error:
        if isinstance(error, FileNotFoundError):
            raise
        raise _silent(str(error), key) from None


# What obstore's long text of a failed request says, and what it means.
_REASONS = (
    ("UnknownIssuer", "its certificate is not trusted"),
    ("CaUsedAsEndEntity", "its certificate is one of an authority, not of a server"),
    ("NotValidForName", "its certificate is for another name"),
    ("Expired", "its certificate has expired"),
    ("InvalidCertificate", "its certificate is not accepted"),
    ("ConnectionRefused", "connection refused"),
    ("dns error", "its name is not known"),
    ("ConnectionReset", "it closed the connection; check whether it uses TLS or plain http"),
    ("timed out", "timed out"),
    ("TimedOut", "timed out"),
)


def _silent(text: str, key: str) -> TalopsError:
    """Of the text only the kind: it carries addresses and answers."""
    reason = next((words for sign, words in _REASONS if sign in text), "the request failed")
    hint = "check endpoint of state: in cluster.yaml, and that the store runs"
    if "certificate" in reason:
        hint = "name the authority that signed it as ca_file of state: in cluster.yaml"
    return UnreachableError(f"the S3 store does not answer: {reason}", where=key, hint=hint)


def _authority(options: Mapping[str, str]) -> str | None:
    if not options.get(CA_BUNDLE):
        return None
    try:
        return Path(options[CA_BUNDLE]).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise _bad_authority(str(error), options) from error


def _bad_authority(reason: str, options: Mapping[str, str]) -> TalopsError:
    return TalopsError(
        f"cannot use the CA file of the S3 store: {reason}",
        where=options[CA_BUNDLE],
        hint="correct ca_file of state: in cluster.yaml, or AWS_CA_BUNDLE",
    )

"""Who may log in to a server of talops: the users file that the state server reads, too."""

from __future__ import annotations

import base64
from dataclasses import dataclass
from typing import TYPE_CHECKING

from talops.errors import DeniedError
from talops.statestore.guard import Denied, Guard
from talops.statestore.users import Access

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from talops.statestore.users import User

# The permissions of the file are patterns of states, like `demo/*`: the page of a cluster is one.
PAGE = "{}/web"


@dataclass(frozen=True)
class Person:
    """A user of the file, as the page needs it."""

    user: User

    @property
    def name(self) -> str:
        return self.user.name

    def may_read(self, cluster: str) -> bool:
        return self.user.may(Access.READ, PAGE.format(cluster))

    def may_act(self, cluster: str) -> bool:
        return self.user.may(Access.WRITE, PAGE.format(cluster))


class Logins:
    """Guesses are slowed down as at the state server."""

    def __init__(self, path: Path, say: Callable[[str], None]) -> None:
        self._guard = Guard(path, say=say)

    async def check(self, name: str, password: str, address: str) -> Person:
        credentials = base64.b64encode(f"{name}:{password}".encode())
        return await self.basic(b"Basic " + credentials, address)

    async def basic(self, header: bytes, address: str) -> Person:
        """From an Authorization header; DeniedError says why not."""
        known = self._guard.known(header)
        if known is None:
            found = await self._guard.verify(header, address)
            if isinstance(found, Denied):
                raise _error(found)
            known = found
        return Person(known)

    async def still(self, header: bytes) -> Person | None:
        """The same user as the file says now; None if its password changed, or it was removed."""
        found = self._guard.known(header) or await self._guard.verify(header, "")
        return None if isinstance(found, Denied) else Person(found)


def _error(denied: Denied) -> DeniedError:
    if denied.unavailable:
        return DeniedError("the users file cannot be read", hint="see the log of the server")
    if denied.retry_after:
        return DeniedError(
            "too many failed logins", hint=f"try again in {denied.retry_after} seconds"
        )
    return DeniedError("the name or the password is wrong")


def require_private(path: Path, what: str) -> None:
    """Refuse a file that other users of this machine can read."""
    from talops.statestore.access.private import require_private

    require_private(path, what)


def is_loopback(host: str) -> bool:
    from talops.statestore.access.network import is_loopback

    return is_loopback(host)


def self_made(directory: Path, host: str, names: tuple[str, ...]) -> tuple[Path, Path, str]:
    """A self-signed certificate: its chain, its key and its fingerprint."""
    from talops.statestore import tls

    files = tls.self_made(directory, [*tls.names_for(host), *names])
    return files.certificate, files.key, tls.fingerprint(files.certificate)


def own_names(host: str) -> list[str]:
    """The names under which a server that listens on this address is reached."""
    from talops.statestore import tls

    return tls.names_for(host)

"""The users file: names, password hashes and permissions per state."""

from __future__ import annotations

import json
import re
from dataclasses import asdict, dataclass, replace
from enum import StrEnum
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from talops.errors import ConflictError, TalopsError
from talops.files import PRIVATE, write_atomic
from talops.statestore.access.private import require_private
from talops.statestore.passwords import hash_password

if TYPE_CHECKING:
    from pathlib import Path

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@-]{0,63}\Z")
FORMAT = 1


class Access(StrEnum):
    READ = "read"
    WRITE = "write"
    # To remove locks of other users.
    FORCE = "force"


@dataclass(frozen=True, slots=True)
class User:
    """`read`, `write` and `force` are patterns like `homelab/*`; write includes read."""

    name: str
    hash: str
    read: tuple[str, ...] = ()
    write: tuple[str, ...] = ()
    force: tuple[str, ...] = ()

    def may(self, access: Access, state: str) -> bool:
        if access is Access.FORCE:
            return _matches(self.force, state)
        if _matches(self.write, state):
            return True
        return access is Access.READ and _matches(self.read, state)

    def may_read_all(self) -> bool:
        return "*" in {*self.read, *self.write}


@lru_cache(maxsize=4096)
def _matches(patterns: tuple[str, ...], state: str) -> bool:
    return any(fnmatchcase(state, pattern) for pattern in patterns)


def load(path: Path) -> dict[str, User]:
    try:
        require_private(path, "the users file")
        users = _users(json.loads(path.read_text(encoding="utf-8")))
    except OSError as error:
        raise TalopsError(
            f"cannot read the users file: {error.strerror}",
            where=str(path),
            hint=f"add the first user: talops state user add NAME --users {path}",
        ) from error
    except (ValueError, KeyError, TypeError) as error:
        raise TalopsError(
            f"the users file is malformed: {type(error).__name__}: {error}", where=str(path)
        ) from error
    return {user.name: user for user in users}


def save(path: Path, users: dict[str, User]) -> None:
    document = {"format": FORMAT, "users": [asdict(user) for user in users.values()]}
    write_atomic(path, json.dumps(document, indent=2) + "\n", mode=PRIVATE)


def add(
    path: Path,
    name: str,
    password: str,
    *,
    read: tuple[str, ...],
    write: tuple[str, ...],
    force: tuple[str, ...] = (),
) -> None:
    users = load(path) if path.exists() else {}
    if name in users:
        raise ConflictError(
            f"user {name} already exists",
            where=str(path),
            hint=f"to change its password: talops state user rotate {name} --users {path}",
        )
    if not NAME.match(name):
        raise TalopsError(f"{name!r} is not a user name", hint="use letters, digits and . _ @ -")
    save(path, {**users, name: User(name, hash_password(password), read, write, force)})


def rotate(path: Path, name: str, password: str) -> None:
    users = load(path)
    save(path, {**users, name: replace(_known(users, name, path), hash=hash_password(password))})


def grant(path: Path, name: str, force: tuple[str, ...]) -> None:
    """Replace the patterns of the states whose locks the user may remove."""
    users = load(path)
    save(path, {**users, name: replace(_known(users, name, path), force=force)})


def remove(path: Path, name: str) -> None:
    users = load(path)
    _known(users, name, path)
    save(path, {key: user for key, user in users.items() if key != name})


def _known(users: dict[str, User], name: str, path: Path) -> User:
    if name not in users:
        raise TalopsError(
            f"user {name} does not exist",
            where=str(path),
            hint=f"users: {', '.join(users) or 'none'}",
        )
    return users[name]


def _users(document: dict[str, Any]) -> list[User]:
    if document["format"] != FORMAT:
        raise ValueError(f"format {document['format']} is not {FORMAT}")
    return [_user(entry) for entry in document["users"]]


def _user(entry: dict[str, object]) -> User:
    name, hashed = entry["name"], entry["hash"]
    if not isinstance(name, str) or not NAME.match(name) or not isinstance(hashed, str):
        raise ValueError("a user requires a name and a hash")
    return User(
        name,
        hashed,
        _patterns(entry.get("read")),
        _patterns(entry.get("write")),
        # Files of older versions do not have it.
        _patterns(entry.get("force", [])),
    )


def _patterns(value: object) -> tuple[str, ...]:
    if not isinstance(value, (list, tuple)) or not all(isinstance(item, str) for item in value):
        raise ValueError("read and write must be lists of patterns")
    return tuple(value)

"""Users of a state server, with hashes that cost nothing."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING

from talops.statestore import users
from talops.statestore.passwords import hash_password
from talops.statestore.users import User

if TYPE_CHECKING:
    from pathlib import Path


def cheap(password: str) -> str:
    return hash_password(password, log_n=4, p=1)


def save(path: Path, *people: User) -> Path:
    users.save(path, {user.name: user for user in people})
    return path


def person(
    name: str,
    *,
    read: tuple[str, ...] = (),
    write: tuple[str, ...] = ("*",),
    force: tuple[str, ...] = (),
) -> User:
    """Their password is their name and -pw."""
    return User(name, cheap(f"{name}-pw"), read, write, force)


def login(name: str) -> tuple[str, str]:
    return name, f"{name}-pw"


def basic(name: str, password: str) -> bytes:
    return b"Basic " + base64.b64encode(f"{name}:{password}".encode())

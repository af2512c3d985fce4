"""Translate errors of PostgreSQL and its driver."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

import asyncpg

from talops.errors import DeniedError, TalopsError, UnreachableError

if TYPE_CHECKING:
    from collections.abc import Iterator

_REFUSALS = (asyncpg.InvalidAuthorizationSpecificationError, asyncpg.InsufficientPrivilegeError)


@contextlib.contextmanager
def translated(*, starting: bool = False) -> Iterator[None]:
    """Translate errors of asyncpg; their texts may quote values, so only the type is shown."""
    try:
        yield
    except (
        asyncpg.InvalidAuthorizationSpecificationError,
        asyncpg.InsufficientPrivilegeError,
    ) as e:
        raise DeniedError(
            f"PostgreSQL refused the request: {type(e).__name__}",
            hint="check user, password and grants",
        ) from None
    except (asyncpg.PostgresError, asyncpg.InterfaceError, OSError, TimeoutError) as e:
        raise UnreachableError(
            f"PostgreSQL does not answer: {type(e).__name__}",
            hint="check that the database runs, and --store" if starting else None,
        ) from None
    except ValueError as e:
        if not starting:
            raise
        raise TalopsError("the database URL is malformed") from e

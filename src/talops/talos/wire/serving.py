"""Serve a part of a service: all other methods answer Unimplemented, as real servers do."""

from __future__ import annotations

from typing import Any

from grpclib.const import Status
from grpclib.exceptions import GRPCError


def partial(base: type) -> Any:
    """A class derived from a generated `…Base` whose methods all exist."""

    def refusing(name: str) -> Any:
        async def refuse(_self: Any, _stream: Any) -> None:
            raise GRPCError(Status.UNIMPLEMENTED, f"method {name} not implemented")

        return refuse

    names = sorted(base.__abstractmethods__)  # type: ignore[attr-defined]  (ABCMeta defines it)
    return type(f"Partial{base.__name__}", (base,), {name: refusing(name) for name in names})

"""Maps calls to functions; parameters and permissions come from the API's description."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from talops.lab.proxmox.errors import PveError
from talops.lab.proxmox.schema import api

if TYPE_CHECKING:
    from collections.abc import Callable

    from talops.lab.proxmox.call import Call

    Handler = Callable[[Call], Any]

METHODS = frozenset({"GET", "POST", "PUT", "DELETE", "HEAD"})


@dataclass(frozen=True)
class Route:
    method: str
    path: tuple[str, ...]
    handler: Handler

    @property
    def described(self) -> api.Method:
        return api.method(f"{self.method} /{'/'.join(self.path)}")

    @property
    def open(self) -> bool:
        """Allowed without a login."""
        return bool(self.described.check == "world")

    def match(self, parts: list[str]) -> dict[str, str] | None:
        """Names in braces match one segment; a last `{volume}` matches the rest."""
        found: dict[str, str] = {}
        for position, segment in enumerate(self.path):
            if segment == "{volume}":
                found["volume"] = "/".join(parts[position:])
                return found
            if segment.startswith("{"):
                found[segment[1:-1]] = parts[position]
            elif segment != parts[position]:
                return None
        return found


class Router:
    """All routes; filled by decorating handlers when their modules are imported."""

    def __init__(self) -> None:
        self._exact: dict[tuple[str, int], list[Route]] = {}
        self._greedy: list[Route] = []

    def __call__(self, method: str, path: str) -> Callable[[Handler], Handler]:
        parts = _parts(path)

        def register(handler: Handler) -> Handler:
            found = Route(method, parts, handler)
            if parts and parts[-1] == "{volume}":
                self._greedy.append(found)
            else:
                self._exact.setdefault((method, len(parts)), []).append(found)
            return handler

        return register

    def names(self) -> list[str]:
        """Every call that the lab answers, as the API's description names it."""
        found = [route for routes in self._exact.values() for route in routes]
        return [f"{r.method} /{'/'.join(r.path)}" for r in (*found, *self._greedy)]

    def find(self, method: str, raw_path: str) -> tuple[Route, dict[str, str]]:
        if method not in METHODS:
            raise PveError(501, f"method '{method}' not available", bare=True)
        parts = [unquote(part) for part in raw_path.split("/") if part]
        for one in self._exact.get((method, len(parts)), ()):
            found = one.match(parts)
            if found is not None:
                return one, found
        for one in self._greedy:
            if one.method == method and len(parts) >= len(one.path):
                found = one.match(parts)
                if found is not None:
                    return one, found
        raise PveError(501, f"Method '{method} {unquote(raw_path) or '/'}' not implemented")


def _parts(path: str) -> tuple[str, ...]:
    return tuple(part for part in path.split("/") if part)


route = Router()

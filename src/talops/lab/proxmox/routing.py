"""Which function answers which call, what it takes and what it asks of the caller."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from talops.lab.proxmox.errors import PveError
from talops.lab.proxmox.params import Schema, schema

if TYPE_CHECKING:
    from collections.abc import Callable

    from talops.lab.proxmox.call import Call
    from talops.lab.proxmox.checks import Check

    Handler = Callable[[Call], Any]

PATH_PARAMETERS = {"vmid": "vmid!:int:100..999999999"}


@dataclass(frozen=True)
class Route:
    method: str
    path: tuple[str, ...]
    schema: Schema
    check: Check | None
    handler: Handler
    open: bool = False  # answered before anybody has logged in

    def match(self, parts: list[str]) -> dict[str, str] | None:
        """Names in braces take one segment; a last `{volume}` takes all that is left."""
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

    def __call__(
        self,
        method: str,
        path: str,
        params: str = "",
        check: Check | None = None,
        *,
        free: bool = False,
    ) -> Callable[[Handler], Handler]:
        parts = tuple(path.strip("/").split("/"))

        def register(handler: Handler) -> Handler:
            names = [part[1:-1] for part in parts if part.startswith("{")]
            # Clients repeat path parameters in the body (`node=…`); Proxmox lets them.
            notation = " ".join(
                [params, *(PATH_PARAMETERS.get(name, f"{name}:str") for name in names)]
            )
            route = Route(method, parts, schema(notation), check, handler, free)
            if parts[-1] == "{volume}":
                self._greedy.append(route)
            else:
                self._exact.setdefault((method, len(parts)), []).append(route)
            return handler

        return register

    def find(self, method: str, raw_path: str) -> tuple[Route, dict[str, str]]:
        parts = [unquote(part) for part in raw_path.strip("/").split("/")]
        for route in self._exact.get((method, len(parts)), ()):
            found = route.match(parts)
            if found is not None:
                return route, found
        for route in self._greedy:
            if route.method == method and len(parts) >= len(route.path):
                found = route.match(parts)
                if found is not None:
                    return route, found
        raise PveError(501, f"Method '{method} /{'/'.join(parts)}' not implemented")


route = Router()

"""/api/v2.0: the same methods as resources, with the key in a header."""

from __future__ import annotations

import errno
import json
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from aiohttp import web

from talops.lab.truenas.errors import CallError, Dropped, ValidationErrors, as_rest

if TYPE_CHECKING:
    from talops.lab.truenas.keys import ApiKey
    from talops.lab.truenas.middleware import Middleware

RESOURCES = ("pool", "pool/dataset")
VERBS = {"GET": "query", "POST": "create", "PUT": "update"}
OPTIONS = frozenset({"limit", "offset", "count"})


async def serve(middleware: Middleware, request: web.Request) -> web.StreamResponse:
    header = request.headers.get("Authorization", "")
    key = middleware.log_in(header.removeprefix("Bearer "))
    if key is None:
        return web.Response(status=401, text="Invalid API key")
    route = _route(request)
    if route is None or not middleware.knows(route[0]):
        return web.Response(status=404, text="404: Not Found")
    if not key.may_rest(request.method):
        return web.Response(status=403)
    return await _call(middleware, key, request, *route)


async def _call(
    middleware: Middleware, key: ApiKey, request: web.Request, method: str, params: list[Any]
) -> web.StreamResponse:
    try:
        body = [await request.json()] if request.method != "GET" else []
    except ValueError as error:
        said = {"message": f"json parse error: {error}", "errno": errno.EINVAL}
        return web.json_response(said, status=400)
    try:
        result = await middleware.call(key, method, [*params, *body])
    except Dropped:
        assert request.transport
        request.transport.abort()
        return web.Response(status=500)
    except (CallError, ValidationErrors) as error:
        return web.json_response(as_rest(error), status=422)
    return web.json_response(result)


def _route(request: web.Request) -> tuple[str, list[Any]] | None:
    """The method and its arguments from the request; the id of a dataset quotes its slashes."""
    raw = request.rel_url.raw_path.removeprefix("/api/v2.0/").rstrip("/")
    resource, found, quoted = raw.partition("/id/")
    if resource not in RESOURCES or request.method not in VERBS:
        return None
    method = f"{resource.replace('/', '.')}.{VERBS[request.method]}"
    if request.method == "GET":
        return method, _filters(request)
    return method, [unquote(quoted)] if found else []


def _filters(request: web.Request) -> list[Any]:
    filters, extra, options = [], {}, {}
    for name, value in request.query.items():
        if name.startswith("extra."):
            extra[name.removeprefix("extra.")] = _json(value)
        elif name in OPTIONS:
            options[name] = _json(value)
        else:
            filters.append([name, "=", value])
    return [filters, {**options, "extra": extra}]


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text

"""The routes: pages, their streams, and the JSON that they are made from."""

from __future__ import annotations

import contextlib
import json
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, quote

from starlette.applications import Starlette
from starlette.responses import (
    HTMLResponse,
    JSONResponse,
    PlainTextResponse,
    RedirectResponse,
    Response,
    StreamingResponse,
)
from starlette.routing import Route

from talops.errors import DeniedError, TalopsError
from talops.web import render
from talops.web.documents import VERSION, metrics
from talops.web.serving.security import Shield
from talops.web.serving.stream import Streams
from talops.web.serving.views import VIEWS, Documents

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from starlette.requests import Request
    from starlette.types import ASGIApp

    from talops.web.serving.security import Names
    from talops.web.serving.sessions import Session, Sessions
    from talops.web.serving.views import View
    from talops.web.watching.site import WatchedSite

LARGEST_FORM = 64 * 1024
MOST_RENDERED = 64
YEAR = "public, max-age=31536000, immutable"


def _utc() -> datetime:
    return datetime.now(UTC)


@dataclass(frozen=True)
class Visitor:
    """Who asks: a session, or any user of this machine if the server has no users."""

    session: Session | None

    @property
    def name(self) -> str:
        return self.session.person.name if self.session else ""

    def may_read(self, site: WatchedSite) -> bool:
        return self.session is None or self.session.person.may_read(site.inventory().name)


class Page:
    """Everything of one server but its sockets; `sessions` is None without a users file."""

    def __init__(
        self,
        sites: Mapping[str, WatchedSite],
        sessions: Sessions | None = None,
        now: Callable[[], datetime] = _utc,
    ) -> None:
        self.sites, self._sessions, self._now = dict(sites), sessions, now
        self._documents = Documents(now)
        self.streams = Streams(self._documents, now)
        self._rendered: dict[tuple[object, ...], tuple[object, bytes]] = {}

    def application(self, names: Names, *, tls: bool) -> ASGIApp:
        routes = [
            Route("/", self._guarded(self._start)),
            Route("/login", self._login_form),
            Route("/login", self._login, methods=["POST"]),
            Route("/logout", self._logout, methods=["POST"]),
            Route("/healthz", _healthy),
            Route("/static/{name}", _static),
            Route("/metrics", self._guarded(self._metrics)),
            Route("/api/v1/sites", self._guarded(self._api_sites)),
            Route("/api/v1/sites/{site}/{view}", self._guarded(self._api)),
            Route("/c/{site}/", self._guarded(self._page)),
            Route("/c/{site}/{view}", self._guarded(self._page)),
            Route("/c/{site}/{view}/events", self._guarded(self._events)),
        ]
        handlers: dict[Any, Any] = {TalopsError: self._failed, 404: self._missing}
        return Shield(Starlette(routes=routes, exception_handlers=handlers), names, tls=tls)

    def _guarded(
        self, show: Callable[[Request, Visitor], Awaitable[Response]]
    ) -> Callable[[Request], Awaitable[Response]]:
        """Users first; a program gets an error instead of a form."""

        async def guarded(request: Request) -> Response:
            if self._sessions is None:
                return await show(request, Visitor(None))
            session = await self._sessions.of(request)
            if session is not None:
                return await show(request, Visitor(session))
            if (
                request.url.path.startswith(("/api/", "/metrics"))
                or "hx-request" in request.headers
            ):
                raise DeniedError("authentication required", hint="log in, or send Basic")
            return RedirectResponse(f"/login?next={quote(request.url.path)}", 303)

        return guarded

    # Pages

    async def _start(self, request: Request, visitor: Visitor) -> Response:
        """All clusters as tiles; of one cluster, its overview."""
        shown = [site for site in self.sites.values() if visitor.may_read(site)]
        if len(shown) == 1:
            return RedirectResponse(f"/c/{quote(shown[0].name)}/", 303)
        fleet = self._fleet(visitor)
        return self._html(
            request, "fleet.html.j2", visitor, doc=fleet, site=None, view=None, query=""
        )

    async def _page(self, request: Request, visitor: Visitor) -> Response:
        """Rendered once per document, for all clients that see the same."""
        site, view, query = self._asked(request, visitor)
        document, digest = self._documents.of(site, view, query)
        fragment = "hx-request" in request.headers
        key = (site.name, view.name, str(request.url.query), fragment, visitor.name)
        known = self._rendered.get(key)
        if known is None or known[0] is not document:
            page = self._html(
                request,
                view.file,
                visitor,
                doc=document,
                digest=digest,
                site=site.name,
                view=view,
                query=str(request.url.query),
            )
            if len(self._rendered) > MOST_RENDERED:
                self._rendered.clear()
            known = self._rendered[key] = (document, bytes(page.body))
        return HTMLResponse(known[1])

    async def _events(self, request: Request, visitor: Visitor) -> Response:
        site, view, query = self._asked(request, visitor)
        query = dict(query)
        seen = query.pop("seen", "")
        body = self.streams.of(site, view, query, seen)
        return StreamingResponse(body, media_type="text/event-stream")

    def _html(
        self, request: Request, template: str, visitor: Visitor, status: int = 200, **values: Any
    ) -> HTMLResponse:
        """Without the frame around it if htmx asks: it replaces the view only."""
        text = render.render(
            template,
            self._now(),
            fragment="hx-request" in request.headers,
            views=[view for view in VIEWS.values() if view.in_menu],
            sites=[site.name for site in self.sites.values() if visitor.may_read(site)],
            user=visitor.name,
            **values,
        )
        return HTMLResponse(text, status)

    # Documents

    async def _metrics(self, _: Request, visitor: Visitor) -> Response:
        shown = [site for site in self.sites.values() if visitor.may_read(site)]
        text = metrics.metrics(shown, self._now()).encode("utf-8", "replace")
        return Response(text, media_type="text/plain; version=0.0.4; charset=utf-8")

    def overview(self, site: WatchedSite) -> Mapping[str, Any]:
        return self._documents.of(site, VIEWS["overview"], {})[0]

    async def _api_sites(self, _: Request, visitor: Visitor) -> Response:
        return Json(self._fleet(visitor))

    async def _api(self, request: Request, visitor: Visitor) -> Response:
        site, view, query = self._asked(request, visitor)
        return Json(self._documents.of(site, view, query)[0])

    def _fleet(self, visitor: Visitor) -> dict[str, Any]:
        shown = [site for site in self.sites.values() if visitor.may_read(site)]
        found = [(site, self._documents.of(site, VIEWS["overview"], {})[0]) for site in shown]
        keys = ("cluster", "level", "sentence", "counts", "ages", "findings")
        tiles = [
            {
                "site": site.name,
                **{key: doc[key] for key in keys},
                "nodes": len(site.inventory().nodes),
            }
            for site, doc in found
        ]
        return {"version": VERSION, "sites": tiles, "time": self._now().isoformat()}

    def _asked(
        self, request: Request, visitor: Visitor
    ) -> tuple[WatchedSite, View, Mapping[str, str]]:
        site = self.sites.get(request.path_params["site"])
        view = VIEWS.get(request.path_params.get("view", "overview"))
        if site is None or view is None or not visitor.may_read(site):
            raise MissingError("this page does not exist", hint="go to the start page")
        query = {k: v for k, v in request.query_params.items() if len(v) <= LONGEST_VALUE}
        return site, view, query

    # Users

    async def _login_form(self, request: Request) -> Response:
        return self._login_page(request, "", 200)

    def _login_page(self, request: Request, problem: str, status: int) -> Response:
        target = _inside(request.query_params.get("next", "/"))
        values = {"problem": problem, "target": target, "site": None, "view": None}
        return self._html(request, "login.html.j2", Visitor(None), status, query="", **values)

    async def _login(self, request: Request) -> Response:
        if self._sessions is None:
            return RedirectResponse("/", 303)
        form = await read_form(request)
        address = request.client.host if request.client else ""
        try:
            token = await self._sessions.login(
                form.get("name", ""), form.get("password", ""), address
            )
        except DeniedError as error:
            return self._login_page(request, str(error), 403)
        response = RedirectResponse(_inside(form.get("next", "/")), 303)
        self._sessions.give(response, token)
        return response

    async def _logout(self, request: Request) -> Response:
        if self._sessions is not None:
            self._sessions.logout(request)
        return RedirectResponse("/login", 303)

    # Errors

    async def _failed(self, request: Request, error: Exception) -> Response:
        assert isinstance(error, TalopsError)
        status = 404 if isinstance(error, MissingError) else 400
        status = 401 if isinstance(error, DeniedError) else status
        if request.url.path.startswith("/api/"):
            return Json({"version": VERSION, "error": error.as_dict()}, status)
        values = {"error": error.as_dict(), "site": None, "view": None, "query": ""}
        return self._html(request, "error.html.j2", Visitor(None), status, **values)

    async def _missing(self, request: Request, _: Exception) -> Response:
        return await self._failed(request, MissingError("this page does not exist"))


LONGEST_VALUE = 200


class Json(JSONResponse):
    """Also for texts of other systems with half characters, which UTF-8 does not have."""

    def render(self, content: Any) -> bytes:
        return json.dumps(content, default=str).encode("ascii")


class MissingError(TalopsError):
    """The page does not exist, or this user may not see it: the answer is the same."""


async def _healthy(_: Request) -> Response:
    return PlainTextResponse("ok\n")


async def _static(request: Request) -> Response:
    name = request.path_params["name"]
    content = render.files().get(name)
    if content is None:
        return PlainTextResponse("not found\n", 404)
    kind = render.TYPES[name.rpartition(".")[2]]
    return Response(content, media_type=kind, headers={"cache-control": YEAR})


def _inside(target: str) -> str:
    """A path of this server: a link to a login must not lead elsewhere."""
    safe = target.startswith("/") and not target.startswith("//") and "\\" not in target
    return target if safe else "/"


async def read_form(request: Request) -> dict[str, str]:
    """Of a small form; a larger body is an error before it is read whole."""
    body = b""
    async with contextlib.aclosing(request.stream()) as pieces:
        async for piece in pieces:
            body += piece
            if len(body) > LARGEST_FORM:
                raise TalopsError("this form is too long")
    fields = parse_qs(body.decode("utf-8", "replace"), keep_blank_values=True)
    return {name: values[0] for name, values in fields.items()}

"""The fake Proxmox, served over HTTPS."""

from __future__ import annotations

import asyncio
import json
import ssl
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from aiohttp import web
from multidict import MultiDict
from tests.lab_provider.fake import TICKET, Fake
from tests.lab_provider.fake_guests import RefusalError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

TOKEN = "lab@pve!test=00000000-0000-0000-0000-000000000000"
FAKE = web.AppKey("fake", Fake)


async def _handle(request: web.Request) -> web.Response:
    fake: Fake = request.app[FAKE]
    path = [unquote(part) for part in request.raw_path.partition("?")[0].split("/")[3:]]
    form = await request.post() if request.method in ("POST", "PUT") else request.query
    call = f"{request.method} /{'/'.join(path)}"
    fake.calls.append(call)
    plain: Any = MultiDict(form)
    if request.method in ("POST", "PUT"):
        plain.update(request.query)
    fake.bodies.append((call, {k: str(v) for k, v in plain.items()}))
    try:
        _check_token(request)
        data = _answer(fake, call, request.method, path, plain)
    except RefusalError as no:
        body = {"data": None, "message": f"{no.reason}\n"} | (
            {"errors": no.errors} if no.errors else {}
        )
        return web.Response(status=no.status, reason=no.reason, text=json.dumps(body))
    return web.json_response({"data": data})


def _check_token(request: web.Request) -> None:
    """A token, or the ticket and for changes its second half too."""
    if request.path.endswith("/access/ticket"):
        return
    token = request.headers.get("Authorization") == f"PVEAPIToken={TOKEN}"
    ticket = request.headers.get("Cookie") == f"PVEAuthCookie={TICKET}"
    safe = request.method == "GET" or request.headers.get("CSRFPreventionToken") == "C"
    if not token and not (ticket and safe):
        raise RefusalError(401, "authentication failure")


def _answer(fake: Fake, call: str, method: str, path: list[str], form: Any) -> Any:
    planned = next((v for k, v in fake.failures.items() if call.endswith(k) and v), None)
    failure = planned.pop(0) if planned else None
    if isinstance(failure, RefusalError):
        raise failure
    data = fake.answer(method, path, form)
    if failure is not None:
        fake.tasks[data] = failure
    return data


@contextmanager
def running(certificate: Path) -> Iterator[Fake]:
    """Served from a thread of its own, on a free port."""
    fake, loop, ready = Fake(), asyncio.new_event_loop(), threading.Event()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.load_cert_chain(certificate)
    stop = asyncio.Event()

    async def serve() -> None:
        app = web.Application()
        app[FAKE] = fake
        app.router.add_route("*", "/{tail:.*}", _handle)
        runner = web.AppRunner(app)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context)
        await site.start()
        fake.port = runner.addresses[0][1]
        ready.set()
        await stop.wait()
        await runner.cleanup()

    thread = threading.Thread(target=loop.run_until_complete, args=(serve(),), daemon=True)
    thread.start()
    assert ready.wait(10)
    try:
        yield fake
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join(10)
        loop.close()

"""Streams, logins and the command itself, over real connections where that matters."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import socket
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import pytest
from tests.web.scripted import Script, broken, client_of, healthy, looked

from talops.app.logins import Logins
from talops.cli.app import run
from talops.errors import TalopsError
from talops.statestore import users
from talops.statestore.passwords import hash_password
from talops.web.serving import server
from talops.web.serving.application import Page
from talops.web.serving.server import Certificate, Settings, serve
from talops.web.serving.sessions import Session, Sessions, require_token
from talops.web.serving.stream import Streams
from talops.web.serving.views import VIEWS, Documents, digest

if TYPE_CHECKING:
    from tests.examples import Example

EXAMPLES = Path(__file__).parents[2] / "examples"
FORM = {"sec-fetch-site": "same-origin"}


def utc() -> datetime:
    return datetime.now(UTC)


def script(example: Example, root: Path) -> Script:
    cluster = example("ha")
    return Script(cluster, root, healthy(cluster, utc()))


async def test_a_stream_tells_ages_always_and_changes_only_if_there_are_any(
    example: Example, tmp_path: Path
) -> None:
    """A look that found the same brings a new age; one that found something else, a change."""
    told = script(example, tmp_path)
    site, view = await looked(told.site()), VIEWS["overview"]
    streams = Streams(Documents(utc), utc, pause=0.0)
    shown = digest(view.make(site, {}, utc()))
    stream = streams.of(site, view, {}, shown)
    first = (await anext(stream)).decode()
    assert first.startswith("event: ages\n")
    assert "checks" in first
    told.answers = broken(told.cluster, utc())
    await looked(site)
    names = []
    while "changed" not in names:
        names += re.findall(r"^event: (\w+)$", (await anext(stream)).decode(), re.MULTILINE)
    assert set(names) <= {"ages", "changed"}
    streams.close()
    assert [piece async for piece in stream] in ([], [b": still here\n\n"])
    assert site.changes.listeners == 0


async def test_a_view_is_told_about_its_own_panels_only(example: Example, tmp_path: Path) -> None:
    """Drift does not change while nodes are looked at."""
    site = await looked(script(example, tmp_path).site())
    streams = Streams(Documents(utc), utc, pause=0.0, heartbeat=0.0)
    stream = streams.of(site, VIEWS["drift"], {}, digest(VIEWS["drift"].make(site, {}, utc())))
    assert b"event: ages" in await anext(stream)
    await site.observer.look("world")
    assert await anext(stream) == b": still here\n\n"
    await stream.aclose()


@pytest.fixture
def users_file(tmp_path: Path) -> Path:
    path = tmp_path / "users.json"
    anna = users.User("anna", cheap("correct horse"), ("ha/*",))
    ben = users.User("ben", cheap("battery staple"), ("other/*",))
    users.save(path, {user.name: user for user in (anna, ben)})
    return path


def cheap(password: str) -> str:
    """The same kind of hash, at a cost that suits a test."""
    return hash_password(password, log_n=4, p=1)


def sessions_of(path: Path, *, tls: bool = True) -> Sessions:
    return Sessions(Logins(path, lambda _: None), tls=tls)


async def login(client: httpx.AsyncClient, name: str, password: str) -> httpx.Response:
    fields = {"name": name, "password": password, "next": "//attacker.example"}
    return await client.post("/login", data=fields, headers=FORM)


async def test_users_see_what_they_may_read(
    example: Example, tmp_path: Path, users_file: Path
) -> None:
    """Without a login nothing; another cluster looks as if it did not exist."""
    site = await looked(script(example, tmp_path).site())
    page = Page({"ha": site}, sessions_of(users_file))
    async with client_of(page, tls=True, host="page.example") as client:
        client.base_url = httpx.URL("https://page.example")
        answer = await client.get("/c/ha/topology")
        assert (answer.status_code, answer.headers["location"]) == (
            303,
            "/login?next=/c/ha/topology",
        )
        assert (await client.get("/api/v1/sites")).status_code == 401
        wrong = await login(client, "anna", "guess")
        assert (wrong.status_code, "ha-cp-1" in wrong.text) == (403, False)
        right = await login(client, "anna", "correct horse")
        assert (right.status_code, right.headers["location"]) == (303, "/")
        cookie = right.headers["set-cookie"].lower()
        assert cookie.startswith("__host-talops=")
        assert all(word in cookie for word in ("httponly", "secure", "samesite=strict", "path=/"))
        assert "ha-cp-1" in (await client.get("/c/ha/topology")).text
        users.save(users_file, {"anna": users.User("anna", cheap("another"), ("ha/*",))})
        page_after = await _after_a_second(client)
        assert page_after.status_code == 303
    users.save(users_file, {"ben": users.User("ben", cheap("battery staple"), ("other/*",))})
    page = Page({"ha": site}, sessions_of(users_file))
    async with client_of(page, tls=True, host="page.example") as client:
        ben = ("ben", "battery staple")
        assert (await client.get("/api/v1/sites", auth=ben)).json()["sites"] == []
        assert (await client.get("/api/v1/sites/ha/overview", auth=ben)).status_code == 404
        assert (await client.get("/api/v1/sites/none/overview", auth=ben)).status_code == 404


async def _after_a_second(client: httpx.AsyncClient) -> httpx.Response:
    """The file of users is read again at most once per second."""
    while (answer := await client.get("/c/ha/topology")).status_code == 200:  # noqa: ASYNC110
        await asyncio.sleep(0)
    return answer


def test_a_token_belongs_to_its_session() -> None:
    """Another one, an empty one and that of a program are refused."""
    person: Any = None
    mine = Session(person, b"", "right", 0.0)
    require_token(mine, "right")
    for session, given in ((mine, "wrong"), (mine, ""), (Session(person, b"", "", 0.0), "")):
        with pytest.raises(TalopsError, match="not of your session"):
            require_token(session, given)


def test_off_loopback_needs_users_and_tls(tmp_path: Path) -> None:
    """Either alone would send passwords or pages through the network for all to read."""
    pair = Certificate(tmp_path / "a", tmp_path / "b")
    Settings("127.0.0.1", 0)
    Settings("::1", 0)
    Settings("0.0.0.0", 0, tmp_path, pair)
    for given in ((None, None), (tmp_path, None), (None, pair)):
        with pytest.raises(TalopsError) as caught:
            Settings("0.0.0.0", 0, *given)
        assert caught.value.hint


async def test_it_serves_until_it_is_stopped(example: Example, tmp_path: Path) -> None:
    """SIGTERM ends the observers and every open stream."""
    sites = {"ha": script(example, tmp_path).site()}
    address: asyncio.Future[str] = asyncio.get_running_loop().create_future()
    settings = Settings("127.0.0.1", 0)
    serving = asyncio.create_task(serve(settings, sites, address.set_result, lambda _: None))
    async with httpx.AsyncClient(base_url=await address) as client:
        page = await client.get("/", follow_redirects=True)
        assert (page.status_code, page.headers["cache-control"]) == (200, "no-store")
        async with client.stream("GET", "/c/ha/overview/events") as stream:
            lines = stream.aiter_lines()
            assert await anext(lines) == "event: ages"
            os.kill(os.getpid(), signal.SIGTERM)
            async for _ in lines:
                pass
    await serving
    assert sites["ha"].changes.listeners == 0
    assert sites["ha"].panels["status"].looked


async def test_an_address_in_use_is_an_error(example: Example, tmp_path: Path) -> None:
    """With the address, and the option that chooses another one."""
    with socket.create_server(("127.0.0.1", 0)) as other:
        settings = Settings("127.0.0.1", other.getsockname()[1])
        with pytest.raises(TalopsError, match="cannot listen") as caught:
            await serve(settings, {}, lambda _: None, lambda _: None)
        assert caught.value.where == f"127.0.0.1:{settings.port}"


def test_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Directories, address, intervals, users and certificate reach the server."""
    given: list[Any] = []

    async def served(settings: Settings, sites: Any, *_: Any) -> None:
        given.extend([settings, sites])

    monkeypatch.setattr(server, "serve", served)
    roots = [str(EXAMPLES / name) for name in ("ha", "ha", "gpu")]
    words = ["--listen", "[::1]:8181", "--every", "10s", "--drift-every", "2h", "--name", "page"]
    tls = ["--tls-self-made", str(tmp_path / "tls"), "--users", str(tmp_path / "users.json")]
    assert run(["web", *words, *tls, *roots]) == 0
    settings, sites = given
    assert (settings.host, settings.port, settings.names) == ("::1", 8181, ("page",))
    assert settings.certificate.chain.is_file()
    assert list(sites) == ["ha", "ha-2", "gpu"]
    every = {name: panel.every for name, panel in sites["ha"].panels.items()}
    assert every == {
        "status": 10.0,
        "world": 10.0,
        "versions": 600.0,
        "credentials": 600.0,
        "drift": 7200.0,
    }


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (["--listen", "8080"], 1),
        (["--listen", "0.0.0.0:0"], 1),
        (["--every", "soon"], 1),
        (["none"], 3),
        (["--tls-key", "key.pem"], 1),
    ],
)
def test_wrong_options_are_errors(
    words: list[str], code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before anything listens."""
    monkeypatch.chdir(tmp_path)
    assert run(["web", *words]) == code

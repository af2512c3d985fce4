"""The page in a real Chromium: layout, keyboard, live changes, accessibility, and hostile sites.

One small sample runs in `make test`; the whole matrix of views, sizes and schemes is `chaos`.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import shutil
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.web.browser import DESKTOP, PHONE, launched
from tests.web.recorded import record
from tests.web.scripted import Script, broken, healthy, looked

from talops.errors import UnreachableError
from talops.pipeline.lock import Holder, local_lock
from talops.web.serving.application import Page
from talops.web.serving.security import Names
from talops.web.serving.views import VIEWS

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from tests.examples import Example
    from tests.web.browser import Browser, Tab

    from talops.web.watching.site import WatchedSite

LIVE, DONE, FAILED = "20261119-09-up-c", "20261119-07-up-a", "20261119-08-up-b"
ERROR: dict[str, str | None] = {"what": "w-1 did not boot", "where": "w-1", "hint": "talops up"}
NODES = ("cp-1", "w-1", "w-2")
PLACES = [
    *("", "topology", "topology?failing=host%20pve1", "drift", "versions", "runs", "calendar"),
    *("capacity", "etcd", f"run?run={FAILED}", f"run?run={LIVE}"),
    f"comparison?before={DONE}&after={FAILED}",
]
TITLE = "document.querySelector('h1').textContent"
LAYOUT = Path(__file__).with_name("layout.js").read_text(encoding="utf-8")


class Served:
    """A page on a real port, whose sites change when a test says so."""

    def __init__(self, address: str, scripts: list[Script], sites: dict[str, WatchedSite]) -> None:
        self.address, self.scripts, self.sites = address, scripts, sites

    async def look(self) -> None:
        for site in self.sites.values():
            await looked(site)


@contextlib.asynccontextmanager
async def served(*scripts: Script) -> AsyncIterator[Served]:
    import uvicorn

    sites = {script.cluster.name: script.site() for script in scripts}
    page = Page(sites)
    page.streams._pause = 0.0
    application = page.application(Names(frozenset(), loopback=True), tls=False)
    config = uvicorn.Config(
        application,
        port=0,
        lifespan="off",
        log_config=None,
        ws="none",
        timeout_graceful_shutdown=2,
    )
    server = uvicorn.Server(config)
    server.capture_signals = contextlib.nullcontext  # type: ignore[method-assign,assignment]  # pytest has its own
    running = asyncio.create_task(server.serve())
    try:
        while not server.started:  # noqa: ASYNC110  (uvicorn has no event for it)
            await asyncio.sleep(0)
        port = server.servers[0].sockets[0].getsockname()[1]
        found = Served(f"http://127.0.0.1:{port}", list(scripts), sites)
        await found.look()
        yield found
    finally:
        page.streams.close()
        server.should_exit = True
        await running


@contextlib.asynccontextmanager
async def browsing(chromium: Path, tmp_path: Path) -> AsyncIterator[Browser]:
    profile = tmp_path / "profile"
    profile.mkdir()
    async with launched(chromium, profile) as browser:
        yield browser
    shutil.rmtree(profile, ignore_errors=True)


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Path]:
    """A directory with three runs, of which one is in progress."""
    root = tmp_path / "site"
    record(root, DONE, NODES)
    record(root, FAILED, NODES, "apply-config", error=ERROR)
    record(root, LIVE, NODES, "provision")
    with local_lock(root / ".talops" / "lock", Holder.myself(LIVE, "up", root)):
        yield root


def script(example: Example, root: Path, name: str = "two-hosts", *, wrong: bool = True) -> Script:
    cluster = example(name)
    answers = broken if wrong else healthy
    return Script(cluster, root, answers(cluster, datetime.now(UTC)))


async def judged(tab: Tab, axe: str) -> list[Any]:
    """Serious violations that axe-core finds."""
    await tab.value(axe + "; true")
    found = await tab.value("axe.run().then((r) => r.violations)")
    return [
        (v["id"], [node["html"][:160] for node in v["nodes"][:3]])
        for v in found
        if v["impact"] in {"serious", "critical"}
    ]


async def well_laid_out(tab: Tab, where: str) -> None:
    size = await tab.value("[document.documentElement.scrollWidth, innerWidth]")
    assert size[0] <= size[1], f"{where} scrolls sideways: {size}"
    assert await tab.value(LAYOUT) == [], where
    assert tab.requests.errors == [], where


@pytest.mark.slow
async def test_a_morning(
    chromium: Path, axe: str, example: Example, tmp_path: Path, running: Path
) -> None:
    """Overview on a phone, a finding that appears and goes, a host that fails, all by keyboard."""
    wrong = script(example, running, wrong=False)
    name = wrong.cluster.name
    async with (
        served(wrong) as page,
        browsing(chromium, tmp_path) as browser,
        browser.tab(PHONE) as tab,
    ):
        await tab.open(page.address)
        assert await tab.value(TITLE) == "Everything is well"
        await well_laid_out(tab, "overview")
        assert await judged(tab, axe) == []
        before = len(tab.requests.sent)
        await page.look()
        await tab.until("htmx && !document.querySelector('#ages .old')")
        wrong.answers = broken(wrong.cluster, datetime.now(UTC))
        await page.look()
        await tab.until("document.querySelector('h1').textContent.includes('1 problem')")
        sent = tab.requests.sent[before:]
        assert {address.partition("/c/")[2] for _, address in sent} == {f"{name}/overview"}
        wrong.answers = healthy(wrong.cluster, datetime.now(UTC))
        await page.look()
        await tab.until("document.querySelector('h1').textContent == 'Everything is well'")
        async with browser.tab(DESKTOP, dark=True) as wide:
            await wide.open(f"{page.address}/c/{name}/topology")
            await well_laid_out(wide, "topology")
            assert await judged(wide, axe) == []
            for _ in range(40):
                await wide.press("Tab")
                if await wide.value("document.activeElement.id") == "host-pve1":
                    break
            await wide.press("Enter")
            await wide.until("document.querySelector('h1').textContent == 'If host pve1 fails'")
            assert await wide.value("document.querySelectorAll('.node.lost').length") == 2


@pytest.mark.chaos
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
async def test_every_view(
    size: tuple[int, int],
    dark: bool,
    chromium: Path,
    axe: str,
    example: Example,
    tmp_path: Path,
    running: Path,
) -> None:
    """No overlap, no sideways scrolling, no serious violation, no error in the console."""
    wrong = script(example, running)
    hostile = script(example, running, "gpu")
    hostile.answers = broken(hostile.cluster, datetime.now(UTC), "<b>n" + "ame" * 400)
    async with served(wrong, hostile) as page, browsing(chromium, tmp_path) as browser:
        for each in (wrong, hostile):
            for place in PLACES:
                async with browser.tab(size, dark=dark) as tab:
                    where = f"/c/{each.cluster.name}/{place}"
                    await tab.open(page.address + where)
                    await well_laid_out(tab, where)
                    assert await judged(tab, axe) == [], where
        async with browser.tab(size, dark=dark) as tab:
            await tab.open(page.address)
            await well_laid_out(tab, "fleet")
            assert await judged(tab, axe) == []


@pytest.mark.chaos
async def test_a_run_goes_on(
    chromium: Path, example: Example, tmp_path: Path, running: Path
) -> None:
    """Each event of the record appears without a reload; a killed run is shown as that."""
    wrong = script(example, running)
    name = wrong.cluster.name
    events = running / ".talops" / "runs" / LIVE / "events.jsonl"
    async with (
        served(wrong) as page,
        browsing(chromium, tmp_path) as browser,
        browser.tab() as tab,
    ):
        await tab.open(f"{page.address}/c/{name}/run?run={LIVE}")
        assert "running" in await tab.value("document.querySelector('h1 + p').textContent")
        now = datetime.now(UTC).isoformat()
        event = {
            "schema": 1,
            "time": now,
            "kind": "wait_progress",
            "stage": "provision",
            "name": "w-9 to boot",
            "reason": "odd <b>reason",
            "seconds": 1,
            "node": "w-9",
        }
        with events.open("a", encoding="utf-8") as file:
            file.write(json.dumps(event) + "\n")
        page.sites[name].records.refresh()
        await tab.until("document.body.textContent.includes('odd <b>reason')")
        (running / ".talops" / "lock").unlink()
        page.sites[name].records.refresh()
        await tab.until("document.querySelector('h1 + p').textContent.includes('killed')")


@pytest.mark.chaos
async def test_without_javascript(
    chromium: Path, example: Example, tmp_path: Path, running: Path
) -> None:
    """Every view can be read, and every link leads somewhere."""
    wrong = script(example, running)
    name = wrong.cluster.name
    async with (
        served(wrong) as page,
        browsing(chromium, tmp_path) as browser,
        browser.tab(script=False) as tab,
    ):
        for place in PLACES:
            await tab.open(f"{page.address}/c/{name}/{place}")
            document = await tab.do("DOM.getDocument", depth=-1)
            assert "H1" in json.dumps(document)
            assert tab.requests.errors == []
        assert not any("events" in address for _, address in tab.requests.sent)


@pytest.mark.chaos
async def test_what_is_old_or_lost_says_so(
    chromium: Path, example: Example, tmp_path: Path, running: Path
) -> None:
    """A look that fails, a value that grows old in an open page, and a server that ends."""
    wrong = script(example, running, wrong=False)
    wrong.every = 0.5
    name = wrong.cluster.name
    async with browsing(chromium, tmp_path) as browser, browser.tab() as tab:
        async with served(wrong) as page:
            await tab.open(f"{page.address}/c/{name}/topology")
            wrong.answers["world"] = UnreachableError("the firewall refused")
            await page.look()
            await tab.until(
                "document.querySelector('#ages').textContent.includes('no answer since')"
            )
            await tab.value("tick(), true")
            await tab.until("tick() || document.querySelector('#ages .old') !== null")
        await tab.until("!document.getElementById('lost').hidden")
        assert "lost" in await tab.value("document.getElementById('lost').textContent")


ATTACK = """
<!doctype html><title>attacker</title><body>
<iframe src="{target}/c/{name}/"></iframe>
<img src="{target}/c/{name}/"><script src="{target}/api/v1/sites"></script>
<form id="f" method="post" action="{target}/logout" target="out"></form><iframe name="out"></iframe>
<script>
window.results = [];
document.getElementById("f").submit();
for (const options of [{{}}, {{credentials: "include"}}, {{method: "POST", mode: "no-cors"}}])
  fetch("{target}/api/v1/sites", options).then((a) => a.text())
    .then((t) => results.push(t)).catch((e) => results.push(String(e)));
new EventSource("{target}/c/{name}/overview/events").onerror = () => results.push("closed");
</script>
"""


@pytest.mark.chaos
async def test_a_page_of_another_site_can_do_nothing(
    chromium: Path, example: Example, tmp_path: Path, running: Path
) -> None:
    """Frames, scripts, forms, requests and streams of an attacker in the same browser."""
    wrong = script(example, running)
    name = wrong.cluster.name
    async with served(wrong) as page, browsing(chromium, tmp_path) as browser:
        html = ATTACK.format(target=page.address, name=name).encode()

        async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.readuntil(b"\r\n\r\n")
            head = f"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {len(html)}\r\n"
            writer.write(f"{head}Connection: close\r\n\r\n".encode() + html)
            await writer.drain()
            writer.close()

        attacker = await asyncio.start_server(answer, "127.0.0.1", 0)
        port = attacker.sockets[0].getsockname()[1]
        async with attacker, browser.tab() as tab:
            # Another port of the same host is the same site, but another origin.
            await tab.open(f"http://localhost:{port}/")
            results = await tab.until("results.length >= 4 && results")
            assert not any("sites" in str(each) for each in results), results
            assert await tab.value("[...document.images].every((i) => !i.naturalWidth)")
            framed = await tab.value(
                "[...document.querySelectorAll('iframe')].map((f) => {"
                " try { return f.contentDocument && f.contentDocument.body.textContent; }"
                " catch { return null; } })"
            )
            assert not any(wrong.cluster.nodes[0].name in str(each) for each in framed)


def test_the_matrix_covers_every_view() -> None:
    """A view that is added is tested, too."""
    named = {place.partition("?")[0] or "overview" for place in PLACES}
    assert named == set(VIEWS)

"""A real Chromium, driven by its DevTools protocol: what a person sees and what a program sends.

The protocol is that of https://chromedevtools.github.io/devtools-protocol/ (Page, Runtime, Input,
Emulation, Network), in the version that the browser itself serves.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
import os
import re
import signal
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from websockets.asyncio.client import connect

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping
    from pathlib import Path

    from websockets.asyncio.client import ClientConnection

LISTENING = re.compile(rb"DevTools listening on (ws://\S+)")
FLAGS = (
    *("--no-sandbox", "--disable-gpu", "--remote-debugging-port=0", "--no-first-run"),
    *("--disable-extensions", "--disable-background-networking", "--disable-component-update"),
    *("--hide-scrollbars", "--force-color-profile=srgb", "--font-render-hinting=none"),
)
# Only a browser that hangs uses it up.
PATIENCE = 120.0
LARGEST = 64 * 2**20
DESKTOP, PHONE = (1280, 900), (360, 740)
KEYS = {"Tab": 9, "Enter": 13, "Escape": 27}


# Those of the package, and those of the machine.
FONTS = """<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig>
<dir>{folder}/fonts</dir><dir>/usr/share/fonts</dir><cachedir>{cache}</cachedir>
<alias><family>system-ui</family><prefer><family>Open Sans</family></prefer></alias>
<alias><family>sans-serif</family><prefer><family>Open Sans</family></prefer></alias>
<alias><family>monospace</family><prefer><family>DejaVu Sans Mono</family></prefer></alias>
</fontconfig>
"""


@dataclass
class Requests:
    """What a tab asked servers for, by method and address."""

    sent: list[tuple[str, str]] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)


class Tab:
    """One page of a browser, in a profile of its own."""

    def __init__(self, browser: Browser, session: str) -> None:
        self._browser, self.session = browser, session
        self.requests = Requests()

    async def do(self, method: str, **params: Any) -> Any:
        return await self._browser.do(method, params, self.session)

    async def prepare(
        self, size: tuple[int, int] = DESKTOP, *, dark: bool = False, script: bool = True
    ) -> None:
        for domain in ("Page", "Runtime", "Network", "Log"):
            await self.do(f"{domain}.enable")
        await self.resize(size, dark=dark)
        await self.do("Emulation.setScriptExecutionDisabled", value=not script)

    async def resize(self, size: tuple[int, int], *, dark: bool = False) -> None:
        width, height = size
        await self.do(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        await self.do("Emulation.setEmulatedMedia", features=[scheme])

    async def open(self, address: str) -> None:
        loaded = self._browser.expect(self.session, "Page.loadEventFired")
        answer = await self.do("Page.navigate", url=address)
        assert "errorText" not in answer, answer
        async with asyncio.timeout(PATIENCE):
            await loaded

    async def value(self, expression: str) -> Any:
        """Of an expression of the page; a promise is awaited."""
        answer = await self.do(
            "Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True
        )
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    async def until(self, expression: str) -> Any:
        """The value of the expression as soon as it is true."""
        async with asyncio.timeout(PATIENCE):
            while True:
                # A page that is being replaced has no values.
                with contextlib.suppress(AssertionError):
                    if found := await self.value(expression):
                        return found
                await self.value("new Promise(requestAnimationFrame)")

    async def click(self, selector: str) -> None:
        """With a mouse, on the element."""
        place = json.dumps(selector)
        x, y = await self.value(
            f"(() => {{ const e = document.querySelector({place}); e.scrollIntoView({{block: "
            "'center'}); const r = e.getBoundingClientRect(); "
            "return [r.x + r.width / 2, r.y + Math.min(r.height / 2, 20)]; })()"
        )
        for kind in ("mousePressed", "mouseReleased"):
            await self.do(
                "Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1
            )

    async def press(self, key: str) -> None:
        code = {"key": key, "code": key, "windowsVirtualKeyCode": KEYS[key]}
        text = {"text": "\r"} if key == "Enter" else {}
        await self.do("Input.dispatchKeyEvent", type="keyDown", **code, **text)
        await self.do("Input.dispatchKeyEvent", type="keyUp", **code)

    async def picture(self, *, whole: bool = True) -> bytes:
        """As PNG."""
        answer = await self.do("Page.captureScreenshot", captureBeyondViewport=whole)
        return base64.b64decode(answer["data"])


class Browser:
    def __init__(self, link: ClientConnection) -> None:
        self._link = link
        self._number = 0
        self._waiting: dict[int, asyncio.Future[Any]] = {}
        self._expected: list[tuple[str, str, asyncio.Future[Any]]] = []
        self.tabs: dict[str, Tab] = {}

    async def do(self, method: str, params: Mapping[str, Any], session: str = "") -> Any:
        self._number += 1
        number = self._number
        self._waiting[number] = asyncio.get_running_loop().create_future()
        message = {"id": number, "method": method, "params": dict(params)}
        await self._link.send(json.dumps(message | ({"sessionId": session} if session else {})))
        async with asyncio.timeout(PATIENCE):
            return await self._waiting[number]

    def expect(self, session: str, event: str) -> asyncio.Future[Any]:
        coming: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._expected.append((session, event, coming))
        return coming

    async def listen(self) -> None:
        """Until it is cancelled, or the browser ends."""
        async for text in self._link:
            message = json.loads(text)
            if waiting := self._waiting.pop(message.get("id"), None):
                if "error" in message:
                    waiting.set_exception(AssertionError(message["error"]))
                else:
                    waiting.set_result(message["result"])
            elif "method" in message:
                self._happened(message)

    def _happened(self, message: dict[str, Any]) -> None:
        session, name, params = message.get("sessionId"), message["method"], message["params"]
        for each in list(self._expected):
            if each[:2] == (session, name):
                self._expected.remove(each)
                each[2].set_result(params)
        tab = self.tabs.get(session or "")
        if tab and name == "Network.requestWillBeSent":
            request = params["request"]
            tab.requests.sent.append((request["method"], request["url"]))
        elif tab and name == "Runtime.exceptionThrown":
            tab.requests.errors.append(str(params["exceptionDetails"]))
        elif tab and name == "Log.entryAdded" and params["entry"]["level"] == "error":
            tab.requests.errors.append(params["entry"]["text"])

    @contextlib.asynccontextmanager
    async def tab(self, size: tuple[int, int] = DESKTOP, **kind: bool) -> AsyncIterator[Tab]:
        """Without the cookies of other tabs."""
        context = (await self.do("Target.createBrowserContext", {}))["browserContextId"]
        where = {"url": "about:blank", "browserContextId": context}
        target = (await self.do("Target.createTarget", where))["targetId"]
        attach = {"targetId": target, "flatten": True}
        tab = Tab(self, (await self.do("Target.attachToTarget", attach))["sessionId"])
        self.tabs[tab.session] = tab
        await tab.prepare(size, **kind)
        try:
            yield tab
        finally:
            del self.tabs[tab.session]
            await self.do("Target.disposeBrowserContext", {"browserContextId": context})


@contextlib.asynccontextmanager
async def launched(program: Path, profile: Path) -> AsyncIterator[Browser]:
    """`program` is the browser, with its libraries and fonts beside it if it came from npm."""
    folder = program.parent
    fonts = profile / "fonts.conf"
    fonts.write_text(FONTS.format(folder=folder, cache=profile / "fonts"), encoding="utf-8")
    environment = {**os.environ, "HOME": str(profile), "FONTCONFIG_FILE": str(fonts)}
    if (folder / "lib").is_dir():
        environment["LD_LIBRARY_PATH"] = str(folder / "lib")
    process = await asyncio.create_subprocess_exec(
        program,
        *FLAGS,
        f"--user-data-dir={profile}",
        "about:blank",
        env=environment,
        cwd=folder,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
        start_new_session=True,
    )
    try:
        assert process.stderr
        async with asyncio.timeout(PATIENCE):
            while not (found := LISTENING.search(line := await process.stderr.readline())):
                assert line, "the browser ended"
        drain = asyncio.create_task(process.stderr.read())
        async with connect(found[1].decode(), max_size=LARGEST) as link:
            browser = Browser(link)
            tasks = [drain, asyncio.create_task(browser.listen())]
            try:
                yield browser
            finally:
                for task in tasks:
                    task.cancel()
                await asyncio.gather(*tasks, return_exceptions=True)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        await process.wait()

"""Tell other systems when the state of a cluster changes: Slack, Alertmanager, ntfy.

A state must last before it is told: a node that reboots would otherwise be two messages.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import httpx

from talops.answersize import limits
from talops.app.logins import require_private
from talops.errors import TalopsError
from talops.redaction import Secret
from talops.visible import visible

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from talops.web.watching.site import WatchedSite

SECONDS, PAUSE, REPEAT = 15.0, 5.0, 60.0
ATTEMPTS = 3
LONGEST = 1000


class Kind(StrEnum):
    SLACK = "slack"
    ALERTMANAGER = "alertmanager"
    NTFY = "ntfy"


@dataclass(frozen=True)
class Hook:
    """The address may contain a token: it is a secret."""

    kind: Kind
    url: Secret

    @classmethod
    def of(cls, text: str, where: str) -> Hook:
        kind, _, url = text.partition("=")
        if kind not in {*Kind} or not url.startswith(("https://", "http://")):
            raise TalopsError(
                "a webhook is KIND=URL; the kinds are slack, alertmanager and ntfy",
                where=where,
                hint="ntfy=https://ntfy.example.com/talops",
            )
        return cls(Kind(kind), Secret(url))


def hooks_in(path: Path) -> tuple[Hook, ...]:
    """One per line; lines with # are comments. Addresses contain tokens: the file is private."""
    try:
        require_private(path, "the webhooks file")
        lines = path.read_text(encoding="utf-8").splitlines()
    except OSError as error:
        what = f"cannot read the webhooks file: {error.strerror}"
        raise TalopsError(what, where=str(path)) from error
    texts = enumerate((line.strip() for line in lines), start=1)
    return tuple(
        Hook.of(text, f"{path}:{number}") for number, text in texts if text and text[0] != "#"
    )


@dataclass(frozen=True)
class News:
    """`level` is good, notice, bad or unknown; `findings` are the worst ones, as texts."""

    cluster: str
    level: str
    sentence: str
    findings: tuple[str, ...] = ()

    @property
    def firing(self) -> bool:
        return self.level in {"bad", "unknown"}

    @property
    def text(self) -> str:
        lines = [f"cluster {self.cluster}: {self.sentence}", *self.findings]
        return visible("\n".join(lines))[:LONGEST]


def news_of(document: Mapping[str, Any]) -> News:
    """From the document of the overview."""
    texts = []
    for each in document["findings"]:
        if each["level"] == "notice":
            continue
        place = f"{each['where']}: " if each["where"] else ""
        command = f" (next: {each['command']})" if each["command"] else ""
        texts.append(f"{place}{each['what']}{command}")
    return News(document["cluster"], document["level"], document["sentence"], tuple(texts[:5]))


def request_of(hook: Hook, news: News, now: datetime) -> dict[str, Any]:
    """The arguments of an httpx request."""
    if hook.kind is Kind.SLACK:
        return {"json": {"text": _slack(news.text)}}
    if hook.kind is Kind.NTFY:
        priority = {"bad": "high", "unknown": "default"}.get(news.level, "low")
        title = f"talops: {news.cluster}".encode("ascii", "replace").decode()
        headers = {"Title": title, "Priority": priority, "Content-Type": "text/plain"}
        return {"content": news.text.encode("utf-8", "replace"), "headers": headers}
    alert: dict[str, Any] = {
        "labels": {"alertname": "TalopsCluster", "cluster": news.cluster},
        "annotations": {"summary": news.sentence, "description": news.text},
    }
    if not news.firing:
        alert["endsAt"] = now.isoformat(timespec="seconds")
    return {"json": [alert]}


def _slack(text: str) -> str:
    """Slack reads these three as markup."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


@dataclass
class Debounce:
    """`settled` tells a state once it has lasted for `delay`, and only if it differs from the one
    that was told before. "Not known before the first look" is not a state.
    """

    delay: float
    told: str = "good"
    _level: str = "good"
    _since: float = 0.0

    def settled(self, level: str, now: float) -> bool:
        if level != self._level:
            self._level, self._since = level, now
        if _alike(level, self.told) or now - self._since < self.delay:
            return False
        self.told = level
        return True


def _alike(level: str, other: str) -> bool:
    """Notes are not worth a message: they wait for the morning."""
    calm = {"good", "notice"}
    return level == other or {level, other} <= calm


@dataclass
class Messenger:
    """Watches sites and sends; what cannot be sent is said, without the address."""

    sites: Mapping[str, WatchedSite]
    hooks: tuple[Hook, ...]
    document: Callable[[WatchedSite], Mapping[str, Any]]
    say: Callable[[str], None]
    delay: float = 120.0
    clock: Callable[[], float] = time.monotonic
    transport: httpx.AsyncBaseTransport | None = None
    _states: dict[str, Debounce] = field(default_factory=dict)
    _repeated: dict[str, float] = field(default_factory=dict)

    async def run(self) -> None:
        """Until it is cancelled."""
        while True:
            await self.check()
            await asyncio.sleep(PAUSE)

    async def check(self) -> None:
        for site in self.sites.values():
            if site.panels["status"].tried is None:
                continue
            news = news_of(self.document(site))
            state = self._states.setdefault(site.name, Debounce(self.delay))
            now = self.clock()
            if state.settled(news.level, now):
                self._repeated[site.name] = now
                await self.send(news, self.hooks)
            elif self._due(site.name, state, news, now):
                self._repeated[site.name] = now
                again = tuple(each for each in self.hooks if each.kind is Kind.ALERTMANAGER)
                await self.send(news, again)

    def _due(self, name: str, state: Debounce, news: News, now: float) -> bool:
        """Alertmanager resolves an alert that is not repeated."""
        lasts = news.firing and state.told == news.level
        return lasts and now - self._repeated.get(name, now) >= REPEAT

    async def send(self, news: News, hooks: Sequence[Hook]) -> None:
        async with httpx.AsyncClient(
            timeout=SECONDS, transport=self.transport, event_hooks=limits()
        ) as client:
            for hook in hooks:
                await self._deliver(client, hook, request_of(hook, news, datetime.now(UTC)))

    async def _deliver(
        self, client: httpx.AsyncClient, hook: Hook, request: Mapping[str, Any]
    ) -> None:
        reason = ""
        for _ in range(ATTEMPTS):
            try:
                answer = await client.post(hook.url.reveal(), **request)
            except (httpx.HTTPError, httpx.InvalidURL) as error:
                reason = type(error).__name__
                continue
            if answer.is_success:
                return
            reason = f"HTTP {answer.status_code}"
        self.say(f"cannot send to the {hook.kind} webhook: {reason}")

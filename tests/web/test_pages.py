"""What the pages and their documents say of clusters that are well, wrong, silent or hostile."""

from __future__ import annotations

import hashlib
import json
from datetime import UTC, datetime, timedelta
from html.parser import HTMLParser
from typing import TYPE_CHECKING, Any

import pytest
from tests.web.scripted import LOOKS, Script, broken, client_of, healthy, looked, visiting

from talops.errors import UnreachableError
from talops.views.html import LONGEST
from talops.web import render
from talops.web.serving.application import Page
from talops.web.serving.views import VIEWS, digest

if TYPE_CHECKING:
    from pathlib import Path

    import httpx
    from tests.examples import Example

NOW = datetime(2026, 11, 19, 8, 0, tzinfo=UTC)
MENU = [name for name, view in VIEWS.items() if view.in_menu]


def of(example: Example, root: Path, name: str = "ha", **answers: Any) -> Script:
    cluster = example(name)
    return Script(cluster, root, {**healthy(cluster, NOW), **answers})


async def document(client: httpx.AsyncClient, view: str, site: str = "ha") -> Any:
    answer = await client.get(f"/api/v1/sites/{site}/{view}")
    assert answer.status_code == 200, answer.text
    return answer.json()


async def test_a_healthy_cluster_is_one_sentence(example: Example, tmp_path: Path) -> None:
    """No finding, and nothing to type."""
    async with visiting(of(example, tmp_path)) as client:
        found = await document(client, "overview")
        assert (found["level"], found["sentence"], found["findings"]) == (
            "good",
            "Everything is well",
            [],
        )
        page = (await client.get("/", follow_redirects=True)).text
        assert "<h1>Everything is well</h1>" in page
        assert "Findings" not in page


async def test_findings_are_in_the_order_of_harm(example: Example, tmp_path: Path) -> None:
    """What is wrong, what is not known, what differs; each with its command."""
    cluster = example("ha")
    async with visiting(Script(cluster, tmp_path, broken(cluster, NOW))) as client:
        found = await document(client, "overview")
        levels = [each["level"] for each in found["findings"]]
        assert levels == sorted(levels, key=["bad", "unknown", "notice"].index)
        assert set(levels) == {"bad", "unknown", "notice"}
        assert found["findings"][0] | {"since": None} == {
            "level": "bad",
            "area": "etcd",
            "what": "etcd has no leader",
            "where": "cp-2",
            "command": "talops talos etcd status",
            "since": None,
        }
        drift = [each for each in found["findings"] if each["area"] == "drift"]
        assert [each["command"] for each in drift if each["level"] == "notice"] == [
            "talops drift --fix"
        ]
        assert found["sentence"] == "1 problem to solve"


async def test_what_is_not_known_is_not_well(example: Example, tmp_path: Path) -> None:
    """Before the first look, after one that failed, and when the last one is too old."""
    script = of(example, tmp_path)
    site, now = script.site(), [datetime.now(UTC)]
    async with client_of(Page({"ha": site}, now=lambda: now[0])) as client:
        first = await document(client, "overview")
        assert (first["level"], first["sentence"]) == (
            "unknown",
            "Looking at the cluster for the first time",
        )
        await looked(site)
        assert (await document(client, "overview"))["level"] == "good"
        script.answers["status"] = UnreachableError("no answer", where="10.0.0.1")
        await site.observer.look("status")
        failed = await document(client, "overview")
        assert failed["level"] == "unknown"
        assert failed["findings"][0]["what"] == "cannot look at checks: no answer"
        assert failed["findings"][0]["since"]
        assert failed["rows"], "what was read before stays, with its age"
        script.answers["status"] = healthy(script.cluster, NOW)["status"]
        await looked(site)
        now[0] = datetime.now(UTC) + timedelta(seconds=3 * script.every + 10)
        stale = await document(client, "overview")
        assert stale["level"] == "unknown"
        assert all(age["stale"] for age in stale["ages"])


@pytest.mark.parametrize("view", MENU)
async def test_every_view_shows_its_age_and_what_is_silent(
    view: str, example: Example, tmp_path: Path
) -> None:
    """Of a look that never succeeded, and of a part that does not answer."""
    cluster = example("ha")
    gone = UnreachableError("the firewall refused", where="10.0.0.1", hint="talops verify")
    script = Script(cluster, tmp_path, dict.fromkeys(LOOKS, gone))
    async with visiting(script) as client:
        found = await document(client, view)
        page = (await client.get(f"/c/ha/{view}")).text
        for age in found.get("ages", ()):
            assert (age["looked"], age["error"]["what"]) == (None, "the firewall refused")
            assert "no answer since" in page
    assert found.get("ages") or view == "runs", "runs are read from this machine"


HOSTILE = (
    "<script>alert(1)</script>",
    "\"><img src=x onerror=alert(1)>'",
    "{{ 7 * 7 }}{% raw %}",
    "\x1b[31mred\x07\x00\u202eevil\u2028",
    "javascript:alert(1)",
    "n" * 10_240,
    "ü̈" * 200 + "\ud800",
)


class Tags(HTMLParser):
    """The tags of a page, and its text."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.mark.parametrize(
    "name", HOSTILE, ids=["markup", "quotes", "jinja", "control", "link", "long", "odd"]
)
async def test_foreign_texts_break_nothing(name: str, example: Example, tmp_path: Path) -> None:
    """They are text in every view: escaped, visible, and no longer than a page can bear."""
    cluster = example("ha")
    harmless = Script(cluster, tmp_path, broken(cluster, NOW, "harmless"))
    hostile = Script(cluster, tmp_path, broken(cluster, NOW, name))
    async with visiting(harmless) as before, visiting(hostile) as after:
        for view in MENU:
            expected, found = Tags(), Tags()
            expected.feed((await before.get(f"/c/ha/{view}")).text)
            answer = await after.get(f"/c/ha/{view}")
            found.feed(answer.text)
            assert [tag for tag, _ in found.tags] == [tag for tag, _ in expected.tags], view
            links = [a["href"] for _, a in found.tags if a.get("href")]
            assert all(str(link).startswith(("/", "#")) for link in links)
            assert not any(char in answer.text for char in "\x1b\x07\x00\u202e\u2028")
            assert "n" * (LONGEST + 1) not in answer.text
            assert len(answer.content) < 300_000
            raw = await after.get(f"/api/v1/sites/ha/{view}")
            assert raw.headers["content-type"] == "application/json"
            json.loads(raw.content)


async def test_a_page_is_made_of_its_document(example: Example, tmp_path: Path) -> None:
    """The link at its foot leads to what it was rendered from, with a version."""
    async with visiting(of(example, tmp_path)) as client:
        for view in MENU:
            page = (await client.get(f"/c/ha/{view}")).text
            assert f'href="/api/v1/sites/ha/{view}"' in page
            assert (await document(client, view))["version"] == 1


async def test_several_clusters_are_tiles(example: Example, tmp_path: Path) -> None:
    """Each with its own sentence; the page of a cluster leads to the others."""
    wrong = example("gpu")
    scripts = (of(example, tmp_path), Script(wrong, tmp_path, broken(wrong, NOW)))
    async with visiting(*scripts) as client:
        page = (await client.get("/")).text
        assert "<h1>2 clusters</h1>" in page
        found = (await client.get("/api/v1/sites")).json()["sites"]
        assert {each["site"]: each["level"] for each in found} == {"ha": "good", "gpu": "bad"}
        assert 'href="/c/gpu/"' in (await client.get("/c/ha/")).text


async def test_a_failing_host_takes_its_nodes_along(example: Example, tmp_path: Path) -> None:
    """As `talops analyze` says; a name that does not exist shows the cluster as it is."""
    name = example("two-hosts").name
    async with visiting(of(example, tmp_path, "two-hosts")) as client:
        whole = await document(client, "topology?failing=host%20none", name)
        assert whole["failing"] is None
        host = whole["hosts"][0]
        found = await document(client, f"topology?failing=host%20{host['name']}", name)
        lost = [n["name"] for h in found["hosts"] for n in h["nodes"] if n["lost"]]
        assert lost == [node["name"] for node in host["nodes"]]
        assert found["failing"]["nodes"] == lost
        page = (await client.get(f"/c/{name}/topology?failing=host%20{host['name']}")).text
        assert f"If host {host['name']} fails" in page
        assert "✗ lost" in page


async def test_pages_that_do_not_exist(example: Example, tmp_path: Path) -> None:
    """A person gets a page, a program a document; neither a stack trace."""
    async with visiting(of(example, tmp_path)) as client:
        for path in ("/c/none/", "/c/ha/none", "/none", "/c/ha/run?run=none"):
            answer = await client.get(path)
            assert answer.status_code in {400, 404}, path
            assert "<h1>" in answer.text
        answer = await client.get("/api/v1/sites/none/overview")
        assert answer.json()["error"]["what"] == "this page does not exist"


async def test_ages_do_not_change_the_digest(example: Example, tmp_path: Path) -> None:
    """A look that finds the same makes no page load itself again."""
    site = await looked(of(example, tmp_path).site())
    for view in VIEWS.values():
        if view.in_menu:
            first = digest(view.make(site, {}, datetime.now(UTC)))
            await looked(site)
            assert digest(view.make(site, {}, datetime.now(UTC))) == first, view.name


def test_vendored_files_are_those_of_npm() -> None:
    """Unchanged: each has the digest that was recorded when it was taken from its package."""
    named = {each["file"]: each["sha256"] for each in render.vendored().values()}
    found = {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in render.STATIC.glob("*.min.js")
    }
    assert found == named


async def test_files_are_kept_by_browsers(example: Example, tmp_path: Path) -> None:
    """Their names change with their content, so they never change."""
    async with visiting(of(example, tmp_path)) as client:
        for address in render.addresses().values():
            answer = await client.get(address)
            assert answer.status_code == 200
            assert "immutable" in answer.headers["cache-control"]
        assert (await client.get("/static/..%2fvendored.toml")).status_code == 404


async def test_a_page_is_rendered_once_for_all_clients(
    example: Example, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Until a look changes something: 50 browsers that follow a run cost as much as one."""
    script, made = of(example, tmp_path), list[str]()
    site, real = await looked(script.site()), render.render

    def counted(template: str, *args: Any, **values: Any) -> str:
        made.append(template)
        return real(template, *args, **values)

    monkeypatch.setattr(render, "render", counted)
    now = datetime.now(UTC)
    async with client_of(Page({"ha": site}, now=lambda: now)) as client:
        pages = [(await client.get("/c/ha/drift")).text for _ in range(5)]
        assert (made, len(set(pages))) == (["drift.html.j2"], 1)
        part = await client.get("/c/ha/drift", headers={"hx-request": "true"})
        assert "<html" not in part.text
        script.answers = broken(script.cluster, NOW)
        await looked(site)
        assert "2 differences" in (await client.get("/c/ha/drift")).text

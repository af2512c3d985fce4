"""The wire protocol, as both tools use it."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING

import pytest
from tests.statestore.helpers import lock_document, md5_header, state_body

if TYPE_CHECKING:
    import httpx

STATE = "/homelab/platform"
LOCK_A = json.dumps(lock_document("a"))
LOCK_B = json.dumps(lock_document("b", "bob@ci"))


async def post(
    client: httpx.AsyncClient, body: bytes, query: str = "", path: str = STATE
) -> httpx.Response:
    return await client.post(path + query, content=body, headers=md5_header(body))


async def test_the_first_apply(client: httpx.AsyncClient) -> None:
    """LOCK, GET, GET, POST with the lock's id, UNLOCK: what a first apply sends."""
    body = state_body(1)
    answers = [
        await client.request("LOCK", STATE, content=LOCK_A),
        await client.get(STATE),
        await client.get(STATE),
        await post(client, body, "?ID=a"),
        await client.request("UNLOCK", STATE, content=LOCK_A),
        await client.get(STATE),
    ]
    assert [answer.status_code for answer in answers] == [200, 404, 404, 200, 200, 200]
    assert answers[-1].content == body


@pytest.mark.parametrize(
    ("lock", "unlock", "path"),
    [
        ("LOCK", "UNLOCK", STATE),
        ("LOCK", "UNLOCK", STATE + "/lock"),
        ("POST", "DELETE", STATE + "/lock"),
        ("PUT", "DELETE", STATE + "/lock"),
        ("POST", "DELETE", "/tfstate/states/platform/lock"),
        ("LOCK", "UNLOCK", "/tfstate/states/platform"),
    ],
)
async def test_every_spelling_of_a_lock(
    client: httpx.AsyncClient, lock: str, unlock: str, path: str
) -> None:
    """Both verbs and both addresses lock; the refused learn the holder's own document."""
    taken = await client.request(lock, path, content=LOCK_A)
    refused = await client.request(lock, path, content=LOCK_B)
    freed = await client.request(unlock, path, content=LOCK_A)
    again = await client.request(lock, path, content=LOCK_B)
    codes = [taken.status_code, refused.status_code, freed.status_code, again.status_code]
    assert codes == [200, 423, 200, 200]
    assert refused.text == LOCK_A


async def test_the_older_layout_is_the_same_state(client: httpx.AsyncClient) -> None:
    """/tfstate/states/<name> is the state <name> of the project tfstate."""
    await post(client, state_body(1), path="/tfstate/states/legacy")
    assert (await client.get("/tfstate/legacy")).content == state_body(1)


@pytest.mark.parametrize("body", ["", '{"ID":"a","Who":"","Created":"0001-01-01T00:00:00Z"}'])
async def test_force_unlock_of_both_tools(client: httpx.AsyncClient, body: str) -> None:
    """Terraform sends nothing, OpenTofu only the id; both leave an entry in the audit log."""
    await client.request("LOCK", STATE, content=LOCK_A)
    assert (await client.request("UNLOCK", STATE, content=body)).status_code == 200
    assert (await client.get(STATE + "/lock")).status_code == 404
    entry, *_ = (await client.get("/-/audit")).json()
    assert (entry["action"], entry["detail"]) == ("force-unlock", "lock a")


async def test_an_ordinary_unlock_is_no_force(client: httpx.AsyncClient) -> None:
    """The holder's own UNLOCK is recorded as such."""
    await client.request("LOCK", STATE, content=LOCK_A)
    await client.request("UNLOCK", STATE, content=LOCK_A)
    found = [entry["action"] for entry in (await client.get("/-/audit")).json()]
    assert found == ["unlock", "lock"]


async def test_a_wrong_id_does_not_unlock(client: httpx.AsyncClient) -> None:
    """The id of another client is refused with the holder's document."""
    await client.request("LOCK", STATE, content=LOCK_A)
    refused = await client.request("UNLOCK", STATE, content=LOCK_B)
    assert (refused.status_code, refused.text) == (423, LOCK_A)


async def test_a_write_without_the_lock_is_refused(client: httpx.AsyncClient) -> None:
    """While the state is locked only the holder's id writes."""
    await client.request("LOCK", STATE, content=LOCK_A)
    for query in ("", "?ID=b"):
        refused = await post(client, state_body(1), query)
        assert (refused.status_code, refused.text) == (423, LOCK_A)
    assert (await client.get(STATE)).status_code == 404


async def test_a_write_after_the_lock_was_taken_away(client: httpx.AsyncClient) -> None:
    """A force-unlocked client must not write any more, even when no other client holds the lock."""
    await client.request("LOCK", STATE, content=LOCK_A)
    await client.request("UNLOCK", STATE)
    refused = await post(client, state_body(1), "?ID=a")
    assert refused.status_code == 409
    assert "no longer held" in refused.json()["error"]


@pytest.mark.parametrize(
    ("serial", "lineage", "words"), [(4, "l", "older serial"), (6, "m", "different lineage")]
)
async def test_refusals_name_what_differs(
    client: httpx.AsyncClient, serial: int, lineage: str, words: str
) -> None:
    """An older serial or different lineage is refused with both values, and ?force=true writes."""
    await post(client, state_body(5, lineage="l"))
    refused = await post(client, state_body(serial, lineage=lineage))
    assert refused.status_code == 409
    assert words in refused.json()["error"]
    assert "talops state restore platform FILE --force" in refused.json()["hint"]
    assert (await post(client, state_body(serial, lineage=lineage), "?force=true")).is_success


@pytest.mark.parametrize("padding", [0, 200_000, 2_500_000])
async def test_sizes_from_inline_to_blob(client: httpx.AsyncClient, padding: int) -> None:
    """Small and large bodies come back byte for byte, with and without Content-MD5."""
    body = state_body(1, padding=padding)
    assert (await post(client, body)).is_success
    bare = state_body(2, padding=padding)
    assert (await client.put(STATE, content=bare)).is_success
    answer = await client.get(STATE)
    assert answer.content == bare
    assert answer.headers["etag"] == f'"{hashlib.md5(bare).hexdigest()}"'
    old = await client.get("/-/states/homelab/platform/versions/1")
    assert old.content == body


async def test_a_known_state_is_not_sent_again(client: httpx.AsyncClient) -> None:
    """If-None-Match with the current ETag is answered with 304 and no body."""
    await post(client, state_body(1))
    tag = (await client.get(STATE)).headers["etag"]
    same = await client.get(STATE, headers={"If-None-Match": f'"x", {tag}'})
    other = await client.get(STATE, headers={"If-None-Match": '"x"'})
    assert (same.status_code, same.content, other.status_code) == (304, b"", 200)


@pytest.mark.parametrize("padding", [0, 300_000])
async def test_head_tells_the_size_only(client: httpx.AsyncClient, padding: int) -> None:
    """HEAD answers like GET, without the body."""
    body = state_body(1, padding=padding)
    await post(client, body)
    for path in (STATE, "/-/states/homelab/platform/versions/1"):
        answer = await client.head(path)
        assert answer.content == b""
        assert answer.headers["content-length"] == str(len(body))


@pytest.mark.parametrize("padding", [0, 300_000])
async def test_a_body_that_changed_on_the_way(client: httpx.AsyncClient, padding: int) -> None:
    """A body that does not match its Content-MD5 is refused and nothing is written."""
    body = state_body(1, padding=padding)
    refused = await client.post(STATE, content=body, headers=md5_header(body + b" "))
    assert refused.status_code == 400
    assert (await client.get(STATE)).status_code == 404


@pytest.mark.parametrize("length_known", [True, False])
async def test_too_large_is_a_clear_413(client: httpx.AsyncClient, length_known: bool) -> None:
    """The limit and the way out are named, whether the length was declared or not."""
    body = state_body(1, padding=5_000_000)

    async def pieces() -> object:
        for place in range(0, len(body), 65536):
            yield body[place : place + 65536]

    content = body if length_known else pieces()
    refused = await client.post(STATE, content=content)  # type: ignore[arg-type]  # both are fine
    assert refused.status_code == 413
    assert "4 MB" in refused.json()["error"]
    assert "--max-body-mb" in refused.json()["hint"]


async def test_rollback_over_http(client: httpx.AsyncClient) -> None:
    """A rollback answers with the new version; the state is the old one, byte for byte."""
    await post(client, state_body(1))
    await post(client, state_body(2))
    done = await client.post("/-/states/homelab/platform/rollback?version=1")
    assert (done.status_code, done.headers["x-state-version"]) == (200, "3")
    assert (await client.get(STATE)).content == state_body(1)
    assert (await post(client, state_body(2))).is_success
    versions = (await client.get("/-/states/homelab/platform/versions")).json()
    assert [v["serial"] for v in versions] == [2, 1, 2, 1]
    assert versions[1]["note"] == "rollback to version 1"
    missing = await client.post("/-/states/homelab/platform/rollback?version=99")
    assert missing.status_code == 404


async def test_delete_answers_200(client: httpx.AsyncClient) -> None:
    """Clients take nothing but 200 for an answer to DELETE."""
    await post(client, state_body(1))
    assert (await client.delete(STATE)).status_code == 200
    assert (await client.get(STATE)).status_code == 404


async def test_health_and_metrics(client: httpx.AsyncClient) -> None:
    """Monitoring sees life, readiness and counts, and no name of a state."""
    await post(client, state_body(1))
    assert (await client.get("/healthz")).text == "alive\n"
    assert (await client.get("/readyz")).text == "ready\n"
    page = (await client.get("/metrics")).text
    assert 'talops_state_requests_total{method="POST",status="200"} 1' in page
    assert "talops_state_written_versions_total 1" in page
    assert "homelab" not in page


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("PATCH", STATE, 405),
        ("GET", "/only-one-part", 404),
        ("GET", "/a/b/c", 404),
        ("GET", "/a/lock", 404),
        ("GET", "/../etc/passwd", 404),
        ("GET", "/a/..", 404),
        ("GET", "/a/%2e%2e", 404),
        ("GET", "/a/b%00c", 404),
        ("GET", "/a/b%2Fc", 404),
        ("GET", "//a/b", 404),
        ("GET", "/a/" + "x" * 300, 404),
        ("GET", "/-/states/a/..%2f/versions", 404),
        ("POST", "/-/states/a/b/rollback?version=x", 400),
        ("GET", "/-/states/a/b/versions/99999999999999999999999", 400),
        ("GET", "/-/nothing", 404),
    ],
)
async def test_addresses_that_are_none(
    client: httpx.AsyncClient, method: str, path: str, status: int
) -> None:
    """What is not the address of a state is refused before it reaches a store."""
    assert (await client.request(method, path)).status_code == status


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"null",
        b"[]",
        b"{",
        b"\x00",
        b"\xff\xfe",
        b'{"serial": 1}',
        b'{"serial": -1, "lineage": "l"}',
        b'{"serial": 1.5, "lineage": "l"}',
        b'{"serial": 99999999999999999999999, "lineage": "l"}',
        b'{"serial": 1, "lineage": ""}',
        b'{"serial": "geheim", "lineage": 7}',
        b"[" * 100_000,
        b'{"serial": 1, "lineage": "l", "x": "' + b"y" * 300_000,
    ],
    ids=lambda body: f"{body[:12]!r}-{len(body)}",
)
async def test_bodies_that_are_no_state(client: httpx.AsyncClient, body: bytes) -> None:
    """Anything but a whole state is refused, and the refusal does not quote it."""
    refused = await post(client, body)
    assert refused.status_code == 400
    assert "geheim" not in refused.text
    assert (await client.get(STATE)).status_code == 404


@pytest.mark.parametrize(
    "body", ["", "[]", "{}", '{"ID":""}', '{"ID":7}', '{"ID":"a b"}', "{", '{"ID":"a\\u0000b"}']
)
async def test_locks_that_are_none(client: httpx.AsyncClient, body: str) -> None:
    """A lock needs an id, because a refusal without one cannot be waited for."""
    assert (await client.request("LOCK", STATE, content=body)).status_code == 400
    assert (await client.request("LOCK", STATE, content=LOCK_A)).status_code == 200

"""The client against the lab's TrueNAS, by REST and by JSON-RPC: the same in every respect."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import httpx
import pytest
from aiohttp import web
from tests.truenas.nas import NEW, NEWEST, OLD, running

from talops.errors import (
    ConflictError,
    DeniedError,
    NotReadyError,
    TalopsError,
    UnreachableError,
    WaitTimeoutError,
)
from talops.lab.pki import Authority
from talops.lab.truenas.middleware import RateLimit
from talops.redaction import Secret
from talops.truenas.access import Access
from talops.truenas.client import TrueNas
from talops.truenas.datasets import GIB, Property, Wanted
from talops.truenas.refusals import FullError, KeyRefusedError

if TYPE_CHECKING:
    from pathlib import Path

    from tests.truenas.nas import Nas

VOLUMES = Wanted("tank/volumes", 50 * GIB, {"compression": "zstd-3", "recordsize": "64k"})


async def test_the_dialect_is_what_the_server_offers(nas: Nas) -> None:
    """REST before 25.04, JSON-RPC since; pools are the same in both."""
    async with TrueNas(nas.access()) as client:
        assert client.dialect == ("REST" if nas.service.version == OLD else "JSON-RPC")
        assert {p.name: (p.status, p.healthy) for p in (await client.pools()).values()} == {
            "tank": ("ONLINE", True),
            "full": ("ONLINE", True),
        }


async def test_a_version_without_rest(tmp_path: Path) -> None:
    """Since 26 there is nothing but JSON-RPC."""
    async with running(tmp_path / "lab", NEWEST) as nas:
        await ask(nas.access())
        async with httpx.AsyncClient(verify=nas.access().trust()) as http:
            assert (await http.get(f"{nas.url}/api/v2.0/pool")).status_code == 302


async def test_made_changed_and_left_alone(nas: Nas) -> None:
    """A second time nothing is asked for; another quota is an update; children and data stay."""
    async with TrueNas(nas.access()) as client:
        assert await client.dataset("tank/volumes") is None
        made = await client.ensure(VOLUMES)
        assert made.quota == 50 * GIB
        assert made.properties["compression"] == Property("ZSTD-3", own=True)
        assert made.properties["recordsize"].value == "64K"
        assert not made.properties["atime"].own
        nas.zfs.write("tank/volumes", 3 * GIB)
        await client.ensure(Wanted("tank/volumes/pvc-1"))
        assert await client.ensure(VOLUMES) == await client.dataset("tank/volumes")
        changed = await client.ensure(Wanted("tank/volumes", 20 * GIB, {"compression": "inherit"}))
        assert changed.quota == 20 * GIB
        assert changed.properties["compression"] == Property("LZ4", own=False)
        assert changed.used > 3 * GIB
        assert await client.dataset("tank/volumes/pvc-1")
    assert [m for m in nas.asked if "query" not in m] == [
        "pool.dataset.create",
        "pool.dataset.create",
        "pool.dataset.update",
    ]


@pytest.mark.parametrize(
    ("wanted", "kind", "words"),
    [
        (
            Wanted("full/x"),
            FullError,
            "no space left in the pool: Failed to create dataset: out of space",
        ),
        (Wanted("tank/a/b"), TalopsError, "Parent dataset does not exist"),
        (Wanted("gone/a"), TalopsError, "Parent dataset does not exist"),
        (Wanted("tank/a", 5), TalopsError, "pool_dataset_create.quota: Should be greater"),
        (Wanted("tank/a", None, {"sync": "x"}), TalopsError, "create.sync: Invalid choice: X"),
        (Wanted("tank/a", None, {"colour": "x"}), TalopsError, "Field was not expected"),
    ],
)
async def test_refusals(nas: Nas, wanted: Wanted, kind: type[TalopsError], words: str) -> None:
    """The server's own words with the place and the next step; nothing has changed."""
    before = nas.zfs.datasets.keys()
    async with TrueNas(nas.access()) as client:
        with pytest.raises(kind, match=words) as refused:
            await client.ensure(wanted)
    assert refused.value.hint
    assert str(refused.value.where).endswith(("pool/dataset", "pool.dataset.create"))
    assert nas.zfs.datasets.keys() == before


async def test_a_quota_never_falls_below_what_is_used(nas: Nas) -> None:
    """TrueNAS itself refuses, and the old quota stays."""
    async with TrueNas(nas.access()) as client:
        await client.ensure(VOLUMES)
        nas.zfs.write("tank/volumes", 10 * GIB)
        with pytest.raises(ConflictError, match="smaller than the stored data"):
            await client.ensure(Wanted("tank/volumes", 5 * GIB))
        kept = await client.dataset("tank/volumes")
    assert kept
    assert kept.quota == 50 * GIB


async def test_a_pool_that_fills_up(nas: Nas) -> None:
    """Full by data or by a fault: refused until there is room again."""
    nas.zfs.write("tank", nas.zfs.available("tank"))
    async with TrueNas(nas.access()) as client:
        with pytest.raises(FullError):
            await client.ensure(VOLUMES)
    row = nas.zfs.datasets["tank"]
    nas.zfs.datasets.put("tank", type(row)("tank"))
    nas.fault("storage-full", storage="tank", id="full")
    async with TrueNas(nas.access()) as client:
        root = await client.dataset("tank")
        assert root
        assert root.available == 0
        with pytest.raises(FullError):
            await client.ensure(VOLUMES)
        nas.faults.remove("full")
        await client.ensure(VOLUMES)


async def ask(access: Access) -> None:
    async with TrueNas(access) as client:
        await client.pools()


async def test_keys(nas: Nas) -> None:
    """Wrong, revoked, without rights, only for reading: each is distinguished, none is shown."""
    wrong = Secret("9-" + "x" * 64)
    with pytest.raises(KeyRefusedError, match="rejected this API key") as refused:
        await ask(Access(nas.url, wrong, ca_file=nas.ca_file))
    assert refused.value.hint
    assert "talops secrets set truenas_api_key" in refused.value.hint
    assert wrong.reveal() not in str(refused.value)
    with pytest.raises(DeniedError, match="lacks permission"):
        await ask(nas.access(key=2))
    async with TrueNas(nas.access(key=1)) as reader:
        assert await reader.pools()
        for forbidden in (reader.ensure(VOLUMES), reader.prove_rights("tank")):
            with pytest.raises(DeniedError, match="lacks permission") as refused_write:
                await forbidden
            assert "DATASET_WRITE" in str(refused_write.value.hint)
    async with TrueNas(nas.access()) as writer:
        await writer.prove_rights("tank")
    assert nas.zfs.datasets.keys() == ["full", "tank"]
    nas.fault("token-revoked", token="talops")
    with pytest.raises(KeyRefusedError):
        await ask(nas.access())


async def test_a_user_name_tells_expired_from_wrong(nas: Nas) -> None:
    """With `auth.login_ex`, where there is one."""
    await ask(nas.access(username="truenas_admin"))
    if nas.service.version == OLD:
        return
    with pytest.raises(KeyRefusedError, match="wrong, expired"):
        await ask(nas.access(username="somebody-else"))
    nas.fault("token-revoked", token="talops")
    with pytest.raises(KeyRefusedError, match="it is expired or revoked"):
        await ask(nas.access(username="truenas_admin"))


async def test_too_many_logins_wait_their_turn(tmp_path: Path) -> None:
    """JSON-RPC accepts twenty a minute; the next one waits, or says why it did not."""
    method = "auth.login_with_api_key"
    async with running(tmp_path / "lab", NEW) as nas:
        for seconds in (3600.0, 1.0):
            nas.service.middleware.rate_limit = RateLimit(seconds)
            for _ in range(20):
                nas.service.middleware.rate_limit.count(method)
            if seconds > 1:
                with pytest.raises(WaitTimeoutError, match="Rate Limit Exceeded") as refused:
                    await ask(nas.access(patience=0))
                assert refused.value.hint
            else:
                await ask(nas.access())


async def test_certificates(nas: Nas, tmp_path: Path) -> None:
    """Not trusted, with an error; trusted by its CA or by option; an invalid CA file."""
    with pytest.raises(UnreachableError, match="not trusted: ") as refused:
        await ask(nas.access(ca_file=None))
    assert "truenas.ca_file" in str(refused.value.hint)
    await ask(nas.access(ca_file=None, insecure=True))
    (tmp_path / "ca.pem").write_text("no certificate")
    with pytest.raises(TalopsError, match="cannot read the CA"):
        await ask(nas.access(ca_file=str(tmp_path / "ca.pem")))


@pytest.mark.parametrize("when", ["before", "after"])
async def test_a_connection_that_ends_is_no_answer(nas: Nas, when: str) -> None:
    """Whether it was done is left open; the next time finds out by looking."""
    nas.fault("drop", path="dataset.create", when=when, times=1)
    async with TrueNas(nas.access()) as client:
        with pytest.raises(UnreachableError, match="does not answer"):
            await client.ensure(VOLUMES)
    assert ("tank/volumes" in nas.zfs.datasets) == (when == "after")
    async with TrueNas(nas.access()) as client:
        assert (await client.ensure(VOLUMES)).quota == 50 * GIB


async def test_slow_answers_end(nas: Nas) -> None:
    """A server that takes longer than the limit does not answer."""
    nas.fault("latency", path="pool.query", seconds=5)
    with pytest.raises(UnreachableError, match="timed out"):
        await ask(nas.access(seconds=0.3))


async def test_errors_of_the_server(nas: Nas) -> None:
    """Unexpected errors come through in the words of the server."""
    nas.fault("error", path="pool.query", message="the disks are on holiday", times=1)
    with pytest.raises(TalopsError, match="TrueNAS rejected the request: the disks are on holiday"):
        await ask(nas.access())


async def test_no_server_answers(nas: Nas) -> None:
    """A host that is down, or that not a TrueNAS at all."""
    await nas.service.stop()
    with pytest.raises(UnreachableError, match="does not answer"):
        await ask(nas.access())


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [(404, "", TalopsError), (200, "<html>", TalopsError), (502, "", NotReadyError)],
)
async def test_strangers(tmp_path: Path, status: int, body: str, kind: Any) -> None:
    """A web server that not a TrueNAS, and one whose TrueNAS is still starting."""
    authority = Authority(tmp_path)
    authority.ensure()

    async def answer(_: web.Request) -> web.Response:
        return web.Response(status=status, text=body)

    app = web.Application()
    app.router.add_route("*", "/{path:.*}", answer)
    runner = web.AppRunner(app)
    await runner.setup()
    tls = authority.server_context("web", ["127.0.0.1"])
    await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=tls).start()
    url = f"https://127.0.0.1:{runner.addresses[0][1]}"
    try:
        with pytest.raises(kind) as refused:
            await ask(Access(url, Secret("1-x"), ca_file=str(authority.certificate)))
        assert refused.value.hint
    finally:
        await runner.cleanup()


def test_never_without_tls() -> None:
    """TrueNAS revokes a key that comes by plain HTTP, so it never leaves that way."""
    with pytest.raises(TalopsError, match="requires https"):
        Access("http://nas.example", Secret("1-x"))

"""Logging in, asking, waiting; and every way in which Proxmox says no."""

from __future__ import annotations

from typing import TYPE_CHECKING

import httpx
import pytest

from talops.errors import (
    ConflictError,
    DeniedError,
    NotReadyError,
    TalopsError,
    UnreachableError,
)
from talops.proxmox import nodes, tasks
from talops.proxmox.answers import LoginError, MissingError
from talops.proxmox.client import Access, Client, Password, Token, token
from talops.redaction import Secret

if TYPE_CHECKING:
    from tests.proxmox.conftest import Lab

PLACE = Access("https://pve:8006/", Token("a@pve!t", Secret("secret-value")))


def answering(status: int, reason: str, body: object = None) -> Client:
    def answer(_: httpx.Request) -> httpx.Response:
        text = {"data": None} if body is None else body
        return httpx.Response(status, json=text, extensions={"reason_phrase": reason.encode()})

    return Client(PLACE, transport=httpx.MockTransport(answer))


@pytest.mark.parametrize(
    ("status", "reason", "body", "kind", "words"),
    [
        (401, "invalid token value!", None, LoginError, "invalid token value"),
        (403, "Permission check failed (/vms/1, VM.Audit)", None, DeniedError, "VM.Audit"),
        (404, "Not Found", None, MissingError, "Not Found"),
        (500, "storage 'x' does not exist", None, MissingError, "does not exist"),
        (500, "Token already exists.", None, ConflictError, "already exists"),
        (500, "VM is locked (backup)", None, NotReadyError, "is locked"),
        (
            400,
            "Parameter verification failed.",
            {"data": None, "errors": {"upid": "no such task"}},
            NotReadyError,
            "no such task",
        ),
        (595, "No route to host", None, UnreachableError, "No route"),
        (501, "Method not implemented", None, TalopsError, "Proxmox answered 501"),
        (
            400,
            "Parameter verification failed.",
            {"data": None, "errors": {"vmid": "VM 9 already exists"}},
            ConflictError,
            "vmid: VM 9 already exists",
        ),
        (200, "OK", ["no", "data"], TalopsError, "this is not a Proxmox API"),
    ],
)
async def test_a_refusal_is_translated(
    status: int, reason: str, body: object, kind: type[TalopsError], words: str
) -> None:
    """The reason phrase is the message, and its kind says what to do about it."""
    async with answering(status, reason, body) as client:
        with pytest.raises(kind) as caught:
            await client.get("version")
    assert words in caught.value.what
    assert caught.value.where == "https://pve:8006/api2/json/version"
    assert "secret-value" not in str(caught.value)


async def test_a_denial_names_the_privilege_and_its_path() -> None:
    """So that the user need not guess what to grant."""
    async with answering(403, "Permission check failed (/vms/1, VM.Audit)") as client:
        with pytest.raises(DeniedError) as caught:
            await client.get("version")
    assert caught.value.hint is not None
    assert caught.value.hint.startswith("VM.Audit is missing on /vms/1")


async def test_no_answer_is_not_an_empty_answer() -> None:
    """A dropped connection is an error of its own kind."""

    def drop(request: httpx.Request) -> httpx.Response:
        raise httpx.ConnectError("connection refused", request=request)

    async with Client(PLACE, transport=httpx.MockTransport(drop)) as client:
        with pytest.raises(UnreachableError, match="connection refused"):
            await client.get("version")


@pytest.mark.parametrize("text", ["", "a@pve", "a@pve!t", "a!t=1", "a@pve!t="])
def test_what_is_no_token(text: str) -> None:
    """The form is that of the provider."""
    with pytest.raises(TalopsError, match="user@realm!name=value"):
        token(text)


async def test_a_password_becomes_a_ticket_that_may_write(lab: Lab) -> None:
    """Writes carry the CSRF token, without which Proxmox refuses them."""
    async with Client(lab.access()) as client:
        assert await nodes.version(client) == "9.2.11"
        await client.ask("POST", "pools", {"poolid": "k8s"})
    assert "k8s" in lab.pve.pools


async def test_a_token_logs_in_without_a_call(lab: Lab) -> None:
    """And may do what its user may."""
    given = lab.token(("/pool/k8s", "Pool.Allocate", 0))
    async with Client(lab.access(given)) as client:
        await client.ask("POST", "pools", {"poolid": "k8s"})
        with pytest.raises(DeniedError):
            await client.ask("POST", "pools", {"poolid": "other"})


async def test_a_wrong_password_is_rejected(lab: Lab) -> None:
    """And the password is not in the message."""
    with pytest.raises(LoginError) as caught:
        async with Client(lab.access(Password("root@pam", Secret("wrong-password")))):
            pass
    assert "wrong-password" not in str(caught.value)


async def test_a_foreign_certificate_is_not_trusted(lab: Lab) -> None:
    """Without the CA there is no connection, and the hint says where the CA is."""
    access = Access(lab.endpoint, lab.access().login)
    with pytest.raises(UnreachableError, match="not trusted") as caught:
        async with Client(access):
            pass
    assert "pve-root-ca.pem" in str(caught.value.hint)


async def test_a_failed_task_is_an_error_with_its_log(lab: Lab, root: Client) -> None:
    """The end of the log says what the exit status does not."""
    path = "nodes/pve/storage/local/download-url"
    given = {"content": "iso", "filename": "x.iso", "url": "https://127.0.0.1:1/x.iso"}
    with pytest.raises(TalopsError, match="task download failed") as caught:
        await tasks.run(root, "POST", path, given)
    assert "its last lines" in str(caught.value.hint)


async def test_booleans_are_sent_as_proxmox_takes_them() -> None:
    """Recorded from 9.2: `true`, `yes` and `TRUE` are refused with 400, 1 and 0 are taken."""
    seen: list[str] = []

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append(request.url.query.decode() or request.content.decode())
        return httpx.Response(200, json={"data": None})

    client = Client(PLACE, transport=httpx.MockTransport(answer))
    await client.ask("POST", "x", {"start": True, "map": ["a", "b"]})
    await client.get("x", full=False)
    assert seen == ["start=1&map=a&map=b", "full=0"]

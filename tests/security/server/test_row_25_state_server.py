"""Small doors of the state server: certificates, web pages, and bad ids (row 25)."""

from __future__ import annotations

import asyncio
import socket
from typing import TYPE_CHECKING

import pytest
from cryptography import x509
from tests.statestore.running import running

from talops.redaction import Secret
from talops.statestore import tls
from talops.statestore.stores import StoreAddress

if TYPE_CHECKING:
    from pathlib import Path

    import httpx


def names_in(certificate: Path) -> set[str]:
    found = x509.load_pem_x509_certificate(certificate.read_bytes())
    names = found.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    return {str(name.value) for name in names}


@pytest.mark.parametrize("host", ["0.0.0.0", "::"])
def test_a_server_on_all_addresses_names_the_one_of_the_network(
    host: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The certificate for 0.0.0.0 contains the address that clients use."""
    own = {socket.AF_INET: "192.168.7.9", socket.AF_INET6: "fd00::9"}
    monkeypatch.setattr(tls, "_own_address", lambda family, _: own[family])
    assert tls.names_for(host) == ["192.168.7.9", "fd00::9"]
    files = tls.self_made(tmp_path, tls.names_for(host))
    assert {"192.168.7.9", "fd00::9", "127.0.0.1"} <= names_in(files.certificate)


def test_a_route_is_asked_without_sending() -> None:
    """Loopback's own address is found; a family without a route gives nothing."""
    assert tls._own_address(socket.AF_INET, "127.0.0.1") == "127.0.0.1"
    assert tls._own_address(socket.AF_INET, "not-an-address") == ""
    assert tls.names_for("10.0.0.5") == ["10.0.0.5"]


@pytest.mark.slow
def test_more_names_from_the_command_line(tmp_path: Path) -> None:
    """--tls-name adds what the server cannot know, such as its name in DNS."""
    store = StoreAddress(Secret(f"sqlite:{tmp_path / 'states'}"))
    names = ("--tls-name", "states.home.arpa", "--tls-name", "10.9.8.7")
    with running(store, "--tls-self-made", str(tmp_path / "tls"), *names):
        found = names_in(tmp_path / "tls" / "certificate.pem")
    assert {"states.home.arpa", "10.9.8.7"} <= found


@pytest.mark.slow
async def test_a_web_page_cannot_use_a_server_without_users(tmp_path: Path) -> None:
    """Neither by a name that points to this machine nor as another origin."""
    store = StoreAddress(Secret(f"sqlite:{tmp_path / 'states'}"))
    with running(store) as server:
        answers = [
            await _get(server.port, headers)
            for headers in (
                "Host: evil.example",
                "Host: evil.example:8443",
                "Host: localhost\r\nOrigin: https://evil.example",
                "Host: [::1",
                f"Host: 127.0.0.1:{server.port}",
                "Host: localhost",
                "Host: [::1]:8443",
            )
        ]
        assert answers == [403, 403, 403, 403, 404, 404, 404]
        listing = await _get(server.port, "Host: evil.example", "/-/states")
        assert listing == 403


async def _get(port: int, headers: str, path: str = "/a/b") -> int:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(f"GET {path} HTTP/1.1\r\n{headers}\r\nConnection: close\r\n\r\n".encode())
    status = int((await reader.readline()).split()[1])
    writer.close()
    await writer.wait_closed()
    return status


@pytest.mark.parametrize("lock_id", ["a b", "x" * 300, "%00"])
async def test_a_bad_id_on_rollback_is_the_clients_error(
    client: httpx.AsyncClient, lock_id: str
) -> None:
    """400 with the reason, not 500."""
    answer = await client.post(f"/-/states/a/b/rollback?version=1&ID={lock_id}")
    assert answer.status_code == 400
    assert "lock id" in answer.json()["error"]

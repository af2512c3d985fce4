"""A state server off loopback never uses plain HTTP by accident (row 9)."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.statestore.access.people import person, save

from talops.cli.app import run
from talops.errors import TalopsError
from talops.redaction import Secret
from talops.statestore.server import Settings
from talops.statestore.stores import StoreAddress
from talops.statestore.tls import TlsFiles

STORE = StoreAddress(Secret("sqlite:x"))
USERS = Path("users.json")


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.7.1", "states.example"])
def test_clear_text_off_loopback_is_refused(host: str) -> None:
    """Passwords and states would cross the network in plain text."""
    with pytest.raises(TalopsError, match="clear text") as caught:
        Settings(host, 8443, STORE, USERS)
    assert "--plain-behind-proxy" in (caught.value.hint or "")
    Settings(host, 8443, STORE, USERS, tls=TlsFiles(Path("c"), Path("k")))
    Settings(host, 8443, STORE, USERS, plain=True)


@pytest.mark.parametrize("host", ["127.0.0.1", "::1", "localhost", "127.0.0.7"])
def test_loopback_needs_none(host: str) -> None:
    """What stays on the machine cannot be intercepted."""
    Settings(host, 8443, STORE, USERS)


def test_the_command_says_what_to_do(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """The documented options are in the hint."""
    book = save(tmp_path / "users.json", person("alice"))
    words = ["state", "serve", "--users", str(book), "--listen", "0.0.0.0:0"]
    assert run([*words, "--store", f"sqlite:{tmp_path / 's'}"]) == 1
    assert "--tls-self-made" in capfd.readouterr().err

"""The talosconfig file is read, merged and written without ever showing its keys."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from tests.talos.conftest import encoded

from talops.redaction import Secret
from talops.talos import talosconfig
from talops.talos.errors import TalosconfigError
from talops.talosconfig import Context, Talosconfig

if TYPE_CHECKING:
    from pathlib import Path

    from tests.talos.conftest import Authority


def sample(authority: Authority) -> str:
    pair = authority.client("os:reader")
    return f"""\
context: home
contexts:
    home:
        endpoints:
            - 10.0.0.1
            - 10.0.0.2
        nodes: [10.0.0.1]
        ca: {encoded(authority.certificate)}
        crt: {encoded(pair.certificate)}
        key: {encoded(pair.key)}
    bare: {{}}
"""


def test_read(authority: Authority, tmp_path: Path) -> None:
    """A context gives endpoints, nodes and credentials that can be used."""
    path = tmp_path / "talosconfig"
    path.write_text(sample(authority))
    context = talosconfig.pick(talosconfig.read(path))
    assert context.endpoints == ("10.0.0.1", "10.0.0.2")
    assert context.nodes == ("10.0.0.1",)
    credentials = talosconfig.credentials_of(context)
    assert credentials.roles == ("os:reader",)
    assert credentials.context is credentials.context  # made once for all nodes


def test_write_and_read(authority: Authority) -> None:
    """What is written reads back the same; an entry without certificates spoils no other."""
    first = talosconfig.parse(sample(authority))
    assert talosconfig.parse(json.dumps(first.to_data())) == first
    assert (first.context, sorted(first.contexts)) == ("home", ["bare", "home"])


def test_key_is_not_shown(authority: Authority) -> None:
    """Neither the object nor an error about it shows the key."""
    config = talosconfig.parse(sample(authority))
    key = config.contexts["home"].key
    assert key.reveal() not in repr(config)
    damaged = Context("c", (), (), "!", "!", Secret("hunter22"))
    with pytest.raises(TalosconfigError) as caught:
        talosconfig.credentials_of(damaged)
    assert "hunter22" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "not a talosconfig"),
        ("[]", "not a talosconfig"),
        ("context: a", "not a talosconfig"),
        ("contexts: 5", "not a talosconfig"),
        ("contexts: {a: 5}", "not a talosconfig"),
        ("contexts:\n  a: [\n", "not YAML"),
    ],
)
def test_damaged(text: str, message: str) -> None:
    """A file that is not a talosconfig is refused by name."""
    with pytest.raises(TalosconfigError, match=message) as caught:
        talosconfig.parse(text, where="my-file")
    assert (caught.value.where or "").startswith("my-file")


def test_missing_file(tmp_path: Path) -> None:
    """A missing file says how to name another one."""
    with pytest.raises(TalosconfigError, match="No such file") as caught:
        talosconfig.read(tmp_path / "none")
    assert "TALOSCONFIG" in (caught.value.hint or "")


@pytest.mark.parametrize("name", ["nowhere", None])
def test_unknown_context(authority: Authority, name: str | None) -> None:
    """A wrong context lists the right ones."""
    config = Talosconfig("", talosconfig.parse(sample(authority)).contexts)
    with pytest.raises(TalosconfigError) as caught:
        talosconfig.pick(config, name)
    assert "bare, home" in (caught.value.hint or "")

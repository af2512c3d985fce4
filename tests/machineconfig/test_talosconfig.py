"""talosconfig and kubeconfig: made, kept while they serve, merged with what is there."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from talops.errors import TalopsError
from talops.machineconfig import yamltext
from talops.machineconfig.places import TALOSCONFIG
from talops.machineconfig.secrets import pki, talosconfig
from talops.machineconfig.secrets.kubeconfig import admin_kubeconfig
from talops.machineconfig.secrets.talosconfig import new_context
from talops.redaction import Secret
from talops.site.written_configs import talosconfig_change, write
from talops.talosconfig import Context, Talosconfig

if TYPE_CHECKING:
    from datetime import datetime
    from pathlib import Path

    from talops.machineconfig.secrets.bundle import Bundle


def context(bundle: Bundle, now: datetime, *endpoints: str) -> Context:
    return new_context("demo", bundle, endpoints=endpoints, nodes=endpoints, now=now)


def test_round_trip(bundle: Bundle, now: datetime) -> None:
    """The file has talosctl's layout and is read back equal."""
    made = context(bundle, now, "10.0.0.1", "10.0.0.2")
    text = talosconfig.dump(Talosconfig("demo", {"demo": made}))
    data = yamltext.load(text, where="talosconfig")
    assert data["context"] == "demo"
    assert list(data["contexts"]["demo"]) == ["endpoints", "nodes", "ca", "crt", "key"]
    assert talosconfig.parse(text, where="talosconfig") == Talosconfig("demo", {"demo": made})
    assert talosconfig.expires(made) == now + timedelta(days=365)
    assert made.key.reveal() not in repr(made)


@pytest.mark.parametrize(("age", "kept"), [(0, True), (300, True), (310, False), (400, False)])
def test_certificate_is_kept_while_it_serves(
    bundle: Bundle, now: datetime, age: int, kept: bool
) -> None:
    """A certificate is renewed sixty days before its end, and not sooner."""
    present = context(bundle, now, "10.0.0.1")
    later = now + timedelta(days=age)
    wanted = context(bundle, later, "10.0.0.9")
    chosen = talosconfig.keep_or_renew(present, wanted, later)
    assert chosen.endpoints == ("10.0.0.9",)
    assert (chosen.crt == present.crt) is kept


def test_certificate_of_another_ca_is_replaced(bundle: Bundle, now: datetime) -> None:
    """After the CA changed, an old certificate opens nothing."""
    other = pki.talos_ca(now)
    old = context(bundle, now, "10.0.0.1")
    foreign = Context("demo", (), (), other.crt, old.crt, old.key)
    wanted = context(bundle, now, "10.0.0.1")
    assert talosconfig.keep_or_renew(foreign, wanted, now) is wanted


def test_other_contexts_survive(tmp_path: Path, bundle: Bundle, now: datetime) -> None:
    """Another cluster's entry, and the choice of the current one, are left as they are."""
    mine = context(bundle, now, "10.0.0.1")
    other = Context("other", ("10.9.9.9",), (), mine.ca, mine.crt, mine.key, {"cluster": "x"})
    path = tmp_path / TALOSCONFIG
    path.parent.mkdir(parents=True)
    path.write_text(talosconfig.dump(Talosconfig("other", {"other": other})), encoding="utf-8")
    change = talosconfig_change(tmp_path, mine, now)
    assert change is not None
    write(tmp_path, [change])
    found = talosconfig.parse(path.read_text(encoding="utf-8"), where="x")
    assert found == Talosconfig("other", {"other": other, "demo": mine})
    assert path.stat().st_mode & 0o777 == 0o600
    assert talosconfig_change(tmp_path, context(bundle, now, "10.0.0.1"), now) is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("context: a\n", "not a talosconfig"),
        ("contexts: {a: {endpoints: [x]}}\n", "has no ca, crt, key"),
        ("- a\n", "not a talosconfig"),
    ],
)
def test_unusable_files_are_refused(text: str, message: str) -> None:
    """A broken talosconfig is named, never overwritten blindly."""
    with pytest.raises(TalopsError, match=message):
        talosconfig.parse(text, where="talosconfig")


def test_admin_kubeconfig(bundle: Bundle, now: datetime) -> None:
    """User and context are admin@cluster; the certificate is the cluster CA's."""
    data = yamltext.load(admin_kubeconfig("demo", "https://a:6443", bundle, now), where="x")
    assert data["current-context"] == "admin@demo"
    assert data["clusters"][0]["cluster"]["server"] == "https://a:6443"
    [user] = data["users"]
    assert user["name"] == "admin@demo"
    pair = pki.Pair(
        user["user"]["client-certificate-data"], Secret(user["user"]["client-key-data"])
    )
    pair.certificate.verify_directly_issued_by(bundle.k8s.certificate)

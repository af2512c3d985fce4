"""`talops access grant|list`: what is handed out, what is recorded, and what is refused."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest
from cryptography.x509.oid import NameOID

from talops.app.access import granting, ledger
from talops.app.access.authorities import authorities
from talops.cli.app import run
from talops.errors import TalopsError
from talops.kube.kubeconfig import parse
from talops.machineconfig.secrets import pem, pki, talosconfig
from talops.machineconfig.secrets.pki import Pair
from talops.machineconfig.secrets.rotating import Phase, Rotated, Rotation

if TYPE_CHECKING:
    from pathlib import Path

    from tests.app.access.conftest import Home

EIGHT = timedelta(hours=8)


def life(time: timedelta = EIGHT) -> granting.Life:
    return granting.Life(datetime.now(UTC), time)


def names(pair: Pair, oid: object) -> list[str]:
    found = pair.certificate.subject
    return [str(a.value) for a in found if a.oid == oid]


def test_a_talosconfig_with_one_role(home: Home) -> None:
    """The certificate has the role and the time, and the record has no secret."""
    made = granting.grant_talos(home.root, home.cluster, home.bundle, "ci", "os:reader", life())
    context = talosconfig.parse(made.config.reveal(), where="x").contexts[home.cluster.name]
    pair = Pair(context.crt, context.key)
    assert names(pair, NameOID.ORGANIZATION_NAME) == ["os:reader"]
    left = pair.certificate.not_valid_after_utc - datetime.now(UTC)
    assert EIGHT - timedelta(minutes=1) < left <= EIGHT
    recorded = (home.root / ledger.FILE).read_text()
    assert json.loads(recorded)["serial"] == f"{pair.certificate.serial_number:x}"
    for secret in (context.key, *home.bundle.secrets()):
        assert not secret or secret.reveal() not in recorded


def test_a_kubeconfig_with_rights_that_can_be_taken_away(home: Home) -> None:
    """A user of its own without a group, bound to one ClusterRole."""
    made = granting.grant_kubernetes(home.root, home.cluster, home.bundle, "alice", "view", life())
    config = parse(made.config.reveal())
    assert config.server == home.cluster.endpoint
    assert config.certificate
    pair = Pair(pem.one_line(config.certificate.encode()))
    assert names(pair, NameOID.COMMON_NAME) == ["talops:alice"]
    assert names(pair, NameOID.ORGANIZATION_NAME) == []
    assert made.binding
    assert made.binding["roleRef"]["name"] == "view"
    assert made.binding["subjects"][0]["name"] == "talops:alice"


def test_masters_need_no_object(home: Home) -> None:
    """The group that every API server obeys works without RBAC."""
    made = granting.grant_kubernetes(
        home.root, home.cluster, home.bundle, "bob", granting.MASTERS, life()
    )
    assert made.binding is None


@pytest.mark.parametrize(
    ("name", "role", "time", "says"),
    [
        ("../x", "os:reader", EIGHT, "not a name"),
        ("Alice", "os:reader", EIGHT, "not a name"),
        ("alice", "os:king", EIGHT, "not a role"),
        ("alice", "os:reader", timedelta(days=400), "at most one year"),
        ("alice", "os:reader", timedelta(), "at least one minute"),
    ],
)
def test_refused_grants_leave_no_record(
    home: Home, name: str, role: str, time: timedelta, says: str
) -> None:
    """Nothing is recorded that was never handed out."""
    with pytest.raises(TalopsError) as caught:
        granting.grant_talos(home.root, home.cluster, home.bundle, name, role, life(time))
    assert says in str(caught.value)
    assert not (home.root / ledger.FILE).exists()


def test_a_rotated_ca_voids_a_grant(home: Home) -> None:
    """During the rotation it still works; afterwards it does not."""
    made = granting.grant_talos(home.root, home.cluster, home.bundle, "ci", "os:reader", life())
    now, bundle = datetime.now(UTC), home.bundle
    new = pki.talos_ca(now)
    issue = {Rotated.TALOS_CA: Rotation(Phase.ISSUE, bundle.os)}
    assert made.grant.state(now, authorities(bundle)) == "valid"
    rotating = replace(bundle, os=new, rotations=issue)
    assert made.grant.state(now, authorities(rotating)) == "valid"
    done = authorities(replace(bundle, os=new))
    assert made.grant.state(now, done) == "void: its CA was rotated"
    assert made.grant.state(now + EIGHT, authorities(bundle)) == "expired"


def test_a_damaged_record_is_kept(home: Home) -> None:
    """Another grant is refused rather than written over lines that cannot be read."""
    file = home.root / ledger.FILE
    file.write_text("{}\n")
    with pytest.raises(TalopsError, match="cannot be read"):
        granting.grant_talos(home.root, home.cluster, home.bundle, "ci", "os:reader", life())
    assert file.read_text() == "{}\n"


def test_the_commands(home: Home, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The file is private and never overwritten, and the list says how long it is valid."""
    target = tmp_path / "ci.talosconfig"
    words = ["access", "grant", "ci", "--api", "talos", "--to", str(target), "--for", "30m"]
    assert run([*words, "-C", str(home.root)]) == 0
    said = capsys.readouterr().err
    assert "cannot be revoked" in said
    assert target.stat().st_mode & 0o777 == 0o600
    assert run([*words, "-C", str(home.root)]) == 1
    capsys.readouterr()
    assert run(["access", "list", "-C", str(home.root), "-o", "json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)["grants"]
    assert (row["name"], row["role"], row["state"]) == ("ci", "os:reader", "valid")
    wrong = [*words[:-1], "soon", "-C", str(home.root)]
    assert run([*wrong[:5], str(tmp_path / "other"), *wrong[6:]]) == 1

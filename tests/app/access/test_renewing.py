"""`talops certificates renew`: from the secrets alone, whatever the files were before."""

from __future__ import annotations

import json
import stat
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from talops.cli.app import run
from talops.kube import kubeconfig_file
from talops.machineconfig.places import TALOSCONFIG
from talops.machineconfig.secrets import pki, talosconfig
from talops.machineconfig.secrets.bundle import generate
from talops.rotation.files import renew_kubeconfig, renew_talosconfig
from talops.talosconfig import Talosconfig

if TYPE_CHECKING:
    import pytest
    from tests.app.access.conftest import Home

LONG_AGO = datetime(2020, 1, 1, tzinfo=UTC)


def test_expired_files_are_renewed_and_others_kept(home: Home) -> None:
    """Both certificates ended years ago; the entries of another cluster stay as they are."""
    now, other = datetime.now(UTC), generate(LONG_AGO)
    kubeconfig = home.root / "kubeconfig"
    renew_kubeconfig(kubeconfig, home.cluster, home.bundle, LONG_AGO)
    renew_talosconfig(home.root, home.cluster, home.bundle, LONG_AGO)
    path = home.root / TALOSCONFIG
    before = talosconfig.parse(path.read_text(), where="x")
    stranger = talosconfig.new_context("other", other, endpoints=(), nodes=(), now=LONG_AGO)
    both = Talosconfig("other", {**before.contexts, "other": stranger})
    path.write_text(talosconfig.dump(both))

    entry = kubeconfig_file.entry(kubeconfig, home.cluster.name)
    assert entry is not None
    assert entry.expires() < now
    renew_kubeconfig(kubeconfig, home.cluster, home.bundle, now)
    renew_talosconfig(home.root, home.cluster, home.bundle, now)

    entry = kubeconfig_file.entry(kubeconfig, home.cluster.name)
    assert entry is not None
    assert entry.expires() > now + timedelta(days=360)
    after = talosconfig.parse(path.read_text(), where="x")
    assert (after.context, after.contexts["other"]) == ("other", stranger)
    mine = after.contexts[home.cluster.name]
    certificate = pki.Pair(mine.crt, mine.key).certificate
    certificate.verify_directly_issued_by(home.bundle.os.certificate)
    for file in (kubeconfig, path):
        assert stat.S_IMODE(file.stat().st_mode) == 0o600


def test_the_command_says_what_it_wrote(
    home: Home, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """One of both on request; a name that is neither is refused."""
    monkeypatch.delenv("KUBECONFIG", raising=False)
    words = ["certificates", "renew", "talosconfig", "-C", str(home.root), "-o", "json"]
    assert run(words) == 0
    rows = json.loads(capsys.readouterr().out)["renewed"]
    assert [row["path"] for row in rows] == [TALOSCONFIG]
    assert not (home.root / "kubeconfig").exists()
    assert run(["certificates", "renew", "apid", "-C", str(home.root)]) == 1
    assert "who renews what" in capsys.readouterr().err

"""`talops import` as users type it, with the real sops."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from tests.cli.conftest import talops
from tests.importing import sources, talhelper_samples

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.cli.conftest import Talops

    from talops.machineconfig.secrets.bundle import Bundle

__all__ = ["talops"]


@pytest.fixture
def ha(tmp_path: Path, bundle: Bundle, tool: Callable[[str], Path]) -> Path:
    tool("sops")
    return sources.write(tmp_path / "source", talhelper_samples.files("ha", bundle))


def test_an_import_is_a_valid_inventory(talops: Talops, ha: Path, tmp_path: Path) -> None:
    """The files pass `check`, the secrets are encrypted, and the same configs come out of them."""
    target = tmp_path / "target"
    target.mkdir()
    done = talops("import", "talhelper", ha, "-C", target)
    assert (done.code, done.err.count("error")) == (0, 0), done.err
    assert "0 differences; nothing was applied" in done.out
    sealed = (target / "talos/talsecret.sops.yaml").read_text("utf-8")
    assert "ENC[AES256_GCM" in sealed
    assert (target / "talos/talsecret.sops.yaml").stat().st_mode & 0o077 == 0
    checked = talops("check", "-C", target)
    assert checked.code == 0, checked.out
    written = talops("talos", "gen-config", "-C", target)
    assert written.code == 0, written.err
    assert sorted(p.name for p in (target / "talos/clusterconfig").iterdir() if "cp" in p.name)


def test_nothing_is_overwritten(talops: Talops, ha: Path, tmp_path: Path) -> None:
    """A directory that has an inventory stays as it is."""
    target = tmp_path / "target"
    target.mkdir()
    (target / "cluster.yaml").write_text("cluster_name: mine\n", encoding="utf-8")
    done = talops("import", "talhelper", ha, "-C", target)
    assert done.code == 1
    assert "never overwritten" in done.err
    assert [path.name for path in target.iterdir()] == ["cluster.yaml"]


def test_a_dry_run_writes_nothing(talops: Talops, ha: Path, tmp_path: Path) -> None:
    """The proof alone, also as JSON."""
    target = tmp_path / "target"
    target.mkdir()
    done = talops("import", "talhelper", ha, "-C", target, "--dry-run", "-o", "json")
    assert done.code == 0
    assert json.loads(done.out)["differences"] == []
    assert list(target.iterdir()) == []


def test_foreign_secrets_are_refused_first(
    talops: Talops, ha: Path, tmp_path: Path, bundle: Bundle
) -> None:
    """A damaged bundle is an error before anything is written."""
    text = bundle.to_yaml().replace(bundle.os.crt, bundle.k8s.crt)
    (ha / "talsecret.yaml").write_text(text, encoding="utf-8")
    target = tmp_path / "target"
    target.mkdir()
    done = talops("import", "talhelper", ha, "-C", target)
    assert done.code == 1
    assert "damaged" in done.err
    assert list(target.iterdir()) == []


def test_unknown_keys_are_listed_with_their_line(talops: Talops, ha: Path, tmp_path: Path) -> None:
    """What could not be carried over is named, and the exit code says so."""
    path = ha / "talconfig.yaml"
    text = path.read_text("utf-8") + "futureKey: 1\n"
    path.write_text(text, encoding="utf-8")
    done = talops("import", "talhelper", ha, "-C", tmp_path / "source", "--dry-run")
    assert done.code == 2
    line = text.splitlines().index("futureKey: 1") + 1
    assert f"talconfig.yaml:{line}:1: futureKey: not supported" in done.out


def test_an_export_is_read_back(talops: Talops, ha: Path, tmp_path: Path) -> None:
    """The files are private, and render what the inventory renders."""
    target = tmp_path / "target"
    target.mkdir()
    assert talops("import", "talhelper", ha, "-C", target).code == 0
    done = talops("export", "topf", tmp_path / "out", "-C", target)
    assert done.code == 0, done.err
    assert "0 differences" in done.out
    files = [path for path in (tmp_path / "out").rglob("*") if path.is_file()]
    assert {path.stat().st_mode & 0o777 for path in files} == {0o600}
    again = talops("export", "topf", tmp_path / "out", "-C", target)
    assert (again.code, "not an empty directory" in again.err) == (1, True)


def test_secrets_of_patches_stay_encrypted(
    talops: Talops, ha: Path, tmp_path: Path, tool: Callable[[str], Path]
) -> None:
    """A password goes to an encrypted patch, and comes back out of it for the configs."""
    patch = ha / "patches/global.yaml"
    auth = "machine: {registries: {config: {r.example: {auth: {username: me, password: hunter2}}}}}"
    patch.write_text(f"{patch.read_text('utf-8')}---\n{auth}\n", encoding="utf-8")
    target = tmp_path / "target"
    target.mkdir()
    done = talops("import", "talhelper", ha, "-C", target)
    assert done.code == 0, done.err + done.out
    texts = {p: p.read_text("utf-8") for p in target.rglob("*.yaml")}
    assert not [path for path, text in texts.items() if "hunter2" in text]
    assert "imported.sops.yaml" in (target / "cluster.yaml").read_text("utf-8")
    assert talops("talos", "gen-config", "-C", target).code == 0
    configs = (target / "talos/clusterconfig").glob("*.yaml")
    assert all("hunter2" in path.read_text("utf-8") for path in configs)

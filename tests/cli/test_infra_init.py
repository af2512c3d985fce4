"""`talops infra init` off the lab: where the provider comes from without settings for it."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from talops.toolchain import mirror
from talops.toolchain.catalog import PROVIDER, catalog
from talops.toolchain.locate import default_cache

if TYPE_CHECKING:
    from pathlib import Path

    from tests.cli.conftest import Talops
    from tests.real_provider import Programs

pytestmark = pytest.mark.slow
VERSION = catalog()[PROVIDER].version


@pytest.fixture
def layer(talops: Talops, dev: Path, programs: Programs, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A rendered layer on a machine that reaches no registry."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(default_cache(os.environ).parent))
    monkeypatch.setenv("HOME", str(dev / "home"))  # without the settings of the user
    for name in ("TF_CLI_CONFIG_FILE", "TALOPS_PROVIDER_MIRROR", "PROXMOX_VE_API_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HTTPS_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("TALOPS_TOFU", str(programs.engine))
    assert talops("configure", "--no-init", "-C", dev).code == 0
    return dev / "infrastructure/02-platforms/dev"


def package(programs: Programs) -> Path:
    found = mirror.package(programs.mirror, VERSION)
    assert found
    return found


def test_a_mirror_of_one_registry_is_enough(
    talops: Talops,
    dev: Path,
    layer: Path,
    programs: Programs,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """TALOPS_PROVIDER_MIRROR means the same to `init` as to `preflight` and to the lab."""
    given = tmp_path / "given" / mirror.TERRAFORM / mirror.NAMESPACE / VERSION
    given.mkdir(parents=True)
    (given / mirror.system()).symlink_to(package(programs))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("TALOPS_PROVIDER_MIRROR", str(tmp_path / "given"))
    done = talops("infra", "init", "-C", dev)
    assert done.code == 0, done.err
    assert not (tmp_path / "cache" / "tools").exists()
    lock = (layer / ".terraform.lock.hcl").read_text(encoding="utf-8")
    assert any(known in lock for known in mirror.hashes(package(programs)))


def test_without_a_registry_the_cache_serves(talops: Talops, dev: Path, layer: Path) -> None:
    """Nothing is set and nothing answers: what the toolchain has is used."""
    done = talops("infra", "init", "-C", dev)
    assert done.code == 0, done.err
    assert (layer / ".terraform.lock.hcl").exists()


def test_a_lock_file_of_an_older_pin_is_brought_up_to_date(
    talops: Talops, dev: Path, layer: Path
) -> None:
    """OpenTofu alone refuses: the layer asks for another version than the lock file names."""
    lock = layer / ".terraform.lock.hcl"
    lock.write_text(
        f'provider "{mirror.OPENTOFU}/{mirror.NAMESPACE}" {{\n'
        '  version     = "0.111.1"\n  constraints = "0.111.1"\n  hashes = [\n'
        '    "h1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=",\n  ]\n}\n'
    )
    done = talops("infra", "init", "-C", dev)
    assert done.code == 0, done.err
    assert f'version     = "{VERSION}"' in lock.read_text(encoding="utf-8")


def test_a_lock_file_of_another_package_is_explained(
    talops: Talops, dev: Path, layer: Path
) -> None:
    """A colleague's hashes from the registry, a provider that was built here: say what to do."""
    lock = layer / ".terraform.lock.hcl"
    lock.write_text(
        f'provider "{mirror.OPENTOFU}/{mirror.NAMESPACE}" {{\n'
        f'  version     = "{VERSION}"\n  constraints = "{VERSION}"\n  hashes = [\n'
        '    "h1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=",\n  ]\n}\n'
    )
    done = talops("infra", "init", "-C", dev)
    assert done.code == 1
    assert "does not know" in done.err
    assert f"rm {lock}" in " ".join(done.err.split())

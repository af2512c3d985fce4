"""Where OpenTofu gets its provider from."""

from __future__ import annotations

import hashlib
import sys
import zipfile
from typing import TYPE_CHECKING

import pytest
from tests.lab_provider.configurations import VM
from tests.lab_provider.conftest import VERSION

from talops.errors import TalopsError
from talops.lab.provider import mirror

if TYPE_CHECKING:
    from pathlib import Path

    from tests.lab_provider.conftest import Workspace


def package(directory: Path, host: str = mirror.HOSTS[0]) -> Path:
    return next((directory / host).rglob("*.zip"))


def test_the_stand_in_is_there_for_both_registries(tmp_path: Path) -> None:
    """The same package, executable, that says what it is and runs this very talops."""
    mirror.build(tmp_path, "1.2.3")
    first, second = (package(tmp_path, host) for host in mirror.HOSTS)
    assert first.name.startswith("terraform-provider-proxmox_1.2.3_linux_")
    assert first.read_bytes() == second.read_bytes()
    with zipfile.ZipFile(first) as archive:
        entry = archive.getinfo("terraform-provider-proxmox_v1.2.3")
        text = archive.read(entry).decode()
    assert entry.external_attr >> 16 & 0o111
    assert "stand-in" in text
    assert sys.executable in text


def test_the_package_never_changes(tmp_path: Path) -> None:
    """Fixed timestamps: the hash in a lock file stays right."""
    hashes = {
        hashlib.sha256(package(mirror.build(tmp_path / name, "1.2.3")).read_bytes()).hexdigest()
        for name in ("a", "b")
    }
    assert len(hashes) == 1


async def test_without_a_real_one_the_stand_in_is_chosen(tmp_path: Path) -> None:
    """Nothing given and nothing to download with."""
    chosen = await mirror.choose(tmp_path, "1.2.3")
    assert not chosen.real
    assert mirror.holds(chosen.directory, "1.2.3")


async def test_a_download_that_fails_falls_back(tmp_path: Path) -> None:
    """A tofu that cannot reach its registry is no reason to stop."""
    tofu = tmp_path / "tofu"
    tofu.write_text("#!/bin/sh\nexit 1\n")
    tofu.chmod(0o755)
    chosen = await mirror.choose(tmp_path / "cache", "1.2.3", tofu=tofu)
    assert not chosen.real


async def test_a_download_is_kept(tmp_path: Path) -> None:
    """Fetched once, for both registries, and found again without asking."""
    tofu = tmp_path / "tofu"
    name = package(mirror.build(tmp_path / "build", "1.2.3")).name
    tofu.write_text(
        "#!/bin/sh\n"
        'for target; do :; done\nmkdir -p "$target/registry.opentofu.org/bpg/proxmox"\n'
        f'echo real > "$target/registry.opentofu.org/bpg/proxmox/{name}"\n'
    )
    tofu.chmod(0o755)
    for attempt in (tofu, None):
        chosen = await mirror.choose(tmp_path / "cache", "1.2.3", tofu=attempt)
        assert chosen.real
        assert {package(chosen.directory, host).read_text() for host in mirror.HOSTS} == {"real\n"}


@pytest.mark.parametrize("host", mirror.HOSTS)
async def test_a_given_mirror_serves_both_registries(host: str, tmp_path: Path) -> None:
    """One made for OpenTofu does for Terraform, and the other way round."""
    given = tmp_path / "given" / host / mirror.NAMESPACE
    given.mkdir(parents=True)
    (given / package(mirror.build(tmp_path / "build", "1.2.3")).name).write_text("real")
    chosen = await mirror.choose(tmp_path / "cache", "1.2.3", given=tmp_path / "given")
    assert chosen.real
    assert mirror.holds(chosen.directory, "1.2.3")
    assert package(chosen.directory).read_text() == "real"


async def test_a_given_mirror_without_the_provider_is_an_error(tmp_path: Path) -> None:
    """Whoever names a mirror wants it used: no silent change to the stand-in."""
    with pytest.raises(TalopsError, match=r"no bpg/proxmox 1\.2\.3") as caught:
        await mirror.choose(tmp_path, "1.2.3", given=tmp_path)
    assert "TALOPS_PROVIDER_MIRROR" in (caught.value.hint or "")


@pytest.mark.slow
def test_init_writes_a_real_lock_file(workspace: Workspace) -> None:
    """A version and a hash, as from a registry."""
    lock = (workspace.directory / ".terraform.lock.hcl").read_text()
    assert f'version     = "{VERSION}"' in lock
    assert '"h1:' in lock


@pytest.mark.slow
def test_it_talks_to_loopback_only(workspace: Workspace, mirror: Path) -> None:
    """The stand-in refuses any other Proxmox by name."""
    from dataclasses import replace

    if "stand-in" not in str(mirror) and not list(mirror.rglob("stand-in")):
        pytest.skip("the real provider goes wherever it is sent")
    elsewhere = replace(workspace, endpoint="https://pve.example.org:8006")
    elsewhere.write(VM)
    result = elsewhere.run("plan", "-no-color")
    assert result.code == 1
    assert "pve.example.org is not the lab" in result.out

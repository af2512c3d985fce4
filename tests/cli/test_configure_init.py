"""What `talops configure` does once credentials, or a passphrase, are available."""

from __future__ import annotations

import asyncio
import os
from typing import TYPE_CHECKING

import pytest
from tests.real_provider import settings_file

from talops.checks.before import tools
from talops.toolchain.install import Toolchain

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.cli.conftest import Talops
    from tests.real_provider import Programs


@pytest.fixture
def offline(programs: Programs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The provider without its registry, and a token that no server asks for."""
    settings = settings_file(programs.mirror, tmp_path)
    monkeypatch.setenv("TF_CLI_CONFIG_FILE", str(settings))
    monkeypatch.setenv("PROXMOX_VE_API_TOKEN", "a@pve!b=00000000-0000-0000-0000-000000000000")


@pytest.mark.slow
def test_layers_are_initialised_once(
    talops: Talops, dev: Path, offline: None, tool: Callable[[str], Path]
) -> None:
    """The second run has nothing to write and nothing to initialise."""
    assert tool("tofu")
    layer = dev / "infrastructure/02-platforms/dev"
    first = talops("configure", "-C", dev)
    assert first.code == 0, first.err
    assert (layer / ".terraform.lock.hcl").exists()
    stamp = (layer / ".terraform.lock.hcl").stat().st_mtime_ns
    again = talops("configure", "-C", dev)
    assert again.out == "up to date\n"
    assert (layer / ".terraform.lock.hcl").stat().st_mtime_ns == stamp


@pytest.mark.slow
def test_a_provider_that_went_away_is_installed_again(
    talops: Talops,
    dev: Path,
    offline: None,
    tmp_path: Path,
) -> None:
    """`init` links a provider that lies unpacked in a mirror or the cache; both may be emptied."""
    assert talops("configure", "-C", dev).code == 0
    (link,) = (dev / "infrastructure/02-platforms/dev").glob(".terraform/providers/*/*/*/*/*_*4")
    link.rename(link.with_name("kept"))
    link.symlink_to(tmp_path / "gone")
    assert talops("configure", "-C", dev).code == 0
    assert link.exists()


@pytest.mark.slow
def test_no_init_skips_it(
    talops: Talops, dev: Path, offline: None, tool: Callable[[str], Path]
) -> None:
    """For users who need only the files."""
    assert talops("configure", "--no-init", "-C", dev).code == 0
    assert not (dev / "infrastructure/02-platforms/dev/.terraform").exists()


def test_without_credentials_there_is_no_init(talops: Talops, dev: Path) -> None:
    """Neither provider nor state could be reached."""
    assert talops("configure", "-C", dev).code == 0
    assert not (dev / "infrastructure/02-platforms/dev/.terraform").exists()


def test_terraform_on_path_is_passed_over_for_encrypted_states(
    talops: Talops, dev: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It cannot encrypt: files are written for tofu, and preflight says that tofu comes later."""
    (tmp_path / "bin").mkdir()
    fake = tmp_path / "bin" / "terraform"
    fake.write_text("#!/bin/sh\necho Terraform v1.11.4\n", encoding="utf-8")
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:/usr/bin:/bin")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    (dev / "infrastructure").mkdir()
    (dev / "infrastructure/secrets.sops.yaml").write_text(
        "state_encryption_passphrase: ENC[AES256_GCM,data:x]\n", encoding="utf-8"
    )
    assert talops("configure", "--no-init", "-C", dev).code == 0
    assert (dev / "infrastructure/02-platforms").exists()
    toolchain = Toolchain(os.environ)
    for encrypted, words in ((True, "tofu is not installed yet"), (False, "terraform 1.11.4")):
        assert asyncio.run(tools.look(toolchain, encrypted=encrypted))[0].what == words

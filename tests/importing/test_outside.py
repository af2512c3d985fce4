"""A foreign source: no file of this user is read because it names or links to it (row 3)."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest
from tests.importing import sources, talhelper_samples, topf_samples

from talops.app.importing.command import _candidates, _decrypted
from talops.errors import TalopsError
from talops.importing.sources.files import MOST_BYTES, plain_text

if TYPE_CHECKING:
    from pathlib import Path

    from talops.machineconfig.secrets.bundle import Bundle

SECRET = "machine: {env: {OF_THE_USER: precious}}\n"


@pytest.fixture
def victim(tmp_path: Path) -> Path:
    """A file of the user beside the source."""
    path = tmp_path / "victim.yaml"
    path.write_text(SECRET, encoding="utf-8")
    return path


def talhelper(folder: Path, bundle: Bundle, patch: str) -> Path:
    files = talhelper_samples.files("single", bundle)
    files["talconfig.yaml"] += f'patches: ["@{patch}"]\n'
    return sources.write(folder, files)


def refused(tool: str, folder: Path) -> str:
    with pytest.raises(TalopsError, match=r"outside of the source|not exist") as caught:
        sources.found_in(tool, folder)
    assert "precious" not in str(caught.value)
    return caught.value.what


@pytest.mark.parametrize("name", ["../victim.yaml", "{victim}", "patches/../../victim.yaml"])
def test_patches_that_are_named(tmp_path: Path, victim: Path, bundle: Bundle, name: str) -> None:
    """The attack: files beside the source became patches of the new inventory."""
    folder = talhelper(tmp_path / "source", bundle, name.format(victim=victim))
    assert "outside of the source" in refused("talhelper", folder)


@pytest.mark.parametrize("name", ["/dev/zero", "/dev/stdin", "../../../../../dev/zero"])
def test_devices(tmp_path: Path, bundle: Bundle, name: str) -> None:
    """One of them never ends, another one waits for the terminal."""
    refused("talhelper", talhelper(tmp_path / "source", bundle, name))


def test_a_device_is_not_a_file(tmp_path: Path) -> None:
    """Its size is 0, whatever it contains."""
    link = tmp_path / "x.yaml"
    link.symlink_to("/dev/zero")
    with pytest.raises(TalopsError, match="not a file"):
        plain_text(link, "x.yaml")
    assert MOST_BYTES


@pytest.mark.parametrize("target", ["../../victim.yaml", "../patches"])
def test_patches_that_are_symlinks(
    tmp_path: Path, victim: Path, bundle: Bundle, target: str
) -> None:
    """In a folder whose files are all read; a symlink that stays in the source is followed."""
    files = topf_samples.files("single", bundle)
    folder = sources.write(tmp_path / "source", files)
    (folder / "patches").mkdir(exist_ok=True)
    (folder / "patches/own.yaml").write_text("machine: {}\n", encoding="utf-8")
    (folder / "all").mkdir(exist_ok=True)
    target = f"{target}/own.yaml" if target.endswith("patches") else target
    (folder / "all/zz.yaml").symlink_to(target)
    if "victim" in target:
        assert victim.exists()
        refused("topf", folder)
    else:
        sources.found_in("topf", folder)


def test_secrets_elsewhere(tmp_path: Path, bundle: Bundle) -> None:
    """The secrets of another cluster of this user do not become those of an inventory."""
    files = topf_samples.files("single", bundle)
    folder = sources.write(tmp_path / "source", files)
    (folder / "secrets.yaml").rename(tmp_path / "secrets.yaml")
    text = f"{files['topf.yaml']}secretsPath: ../secrets.yaml\n"
    (folder / "topf.yaml").write_text(text, encoding="utf-8")
    assert "outside of the source" in refused("topf", folder)


def test_a_file_elsewhere_in_the_repository(tmp_path: Path, bundle: Bundle) -> None:
    """Patches that several clusters share are beside their directories."""
    (tmp_path / ".git").mkdir()
    (tmp_path / "shared.yaml").write_text("machine: {sysctls: {a: '1'}}\n", encoding="utf-8")
    folder = talhelper(tmp_path / "source", bundle, "../shared.yaml")
    assert sources.proposed("talhelper", folder).differences == ()


def test_encrypted_files_elsewhere_are_not_opened(
    tmp_path: Path, bundle: Bundle, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The key of this user opens other files of this user, too."""
    sealed = "a: ENC[AES256_GCM,data:x]\nsops: {}\n"
    (tmp_path / "mine.sops.yaml").write_text(sealed, encoding="utf-8")
    folder = talhelper(tmp_path / "source", bundle, "link.yaml")
    (folder / "link.yaml").symlink_to("../mine.sops.yaml")
    assert folder / "link.yaml" not in set(_candidates(folder))

    async def never(*_: Any) -> Any:
        raise AssertionError

    monkeypatch.setattr("talops.app.importing.command.open_keys", never)
    assert asyncio.run(_decrypted(folder, {}, print)) == {}

"""Filesystem mirrors as OpenTofu reads them."""

from __future__ import annotations

import subprocess
import zipfile
from typing import TYPE_CHECKING

import pytest
from tests.toolchain.conftest import put

from talops.toolchain import mirror
from talops.toolchain.catalog import PROVIDER, catalog

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

VERSION = catalog()[PROVIDER].version
MAIN = f"""\
terraform {{
  required_providers {{
    proxmox = {{
      source  = "{mirror.NAMESPACE}"
      version = "{VERSION}"
    }}
  }}
}}
"""


def laid(folder: Path) -> Path:
    program = put(folder.parent / "built", mirror.PROGRAM, "#!/bin/sh\n")
    mirror.lay(program, folder, VERSION)
    return folder


def packed(folder: Path, host: str) -> Path:
    """As a registry packs it: the program, and a text beside it."""
    path = folder / host / mirror.NAMESPACE / mirror.packed_name(VERSION)
    path.parent.mkdir(parents=True)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(f"{mirror.PROGRAM}_v{VERSION}", "#!/bin/sh\n")
        archive.writestr("LICENSE", "free")
    return path


def test_a_built_program_serves_both_registries(tmp_path: Path) -> None:
    """One copy, and a link that survives a move of the whole mirror."""
    laid(tmp_path / "first").rename(tmp_path / "second")
    assert mirror.holds(tmp_path / "second", VERSION)
    for host in mirror.HOSTS:
        found = mirror.package(tmp_path / "second", VERSION, [host])
        assert found
        assert (found / f"{mirror.PROGRAM}_v{VERSION}").stat().st_mode & 0o111


@pytest.mark.parametrize("host", mirror.HOSTS)
def test_a_packed_one_serves_both_registries(host: str, tmp_path: Path) -> None:
    """As `tofu providers mirror` leaves it, for one registry only."""
    packed(tmp_path, host)
    assert not mirror.holds(tmp_path, VERSION)
    mirror.serve_both(tmp_path, VERSION)
    assert mirror.holds(tmp_path, VERSION)


def test_a_view_shows_a_package_that_lies_elsewhere(tmp_path: Path) -> None:
    """A mirror of another program stays as it is."""
    found = packed(tmp_path / "theirs", mirror.TERRAFORM)
    mirror.view(found, tmp_path / "view", VERSION)
    assert mirror.holds(tmp_path / "view", VERSION)
    assert not mirror.holds(tmp_path / "theirs", VERSION)


def test_another_version_is_not_enough(tmp_path: Path) -> None:
    """Only the pinned version counts."""
    assert mirror.package(laid(tmp_path / "mirror"), "0.1.0") is None


@pytest.mark.slow
@pytest.mark.parametrize("make", ["laid", "packed"])
@pytest.mark.parametrize("only", [True, False])
def test_opentofu_installs_from_it(
    tool: Callable[[str], Path], tmp_path: Path, make: str, *, only: bool
) -> None:
    """Its lock file holds the hash that we compute, and no registry is asked."""
    directory = tmp_path / "mirror"
    if make == "laid":
        laid(directory)
    else:
        packed(directory, mirror.OPENTOFU)
    work = tmp_path / "work"
    work.mkdir()
    (work / "main.tf").write_text(MAIN)
    (work / "cli.tfrc").write_text(mirror.settings_text(directory, only=only))
    environment = {
        "HOME": str(work),
        "TF_CLI_CONFIG_FILE": str(work / "cli.tfrc"),
        "HTTPS_PROXY": "http://127.0.0.1:9",
    }
    command = [str(tool("tofu")), "init", "-no-color", "-input=false"]
    done = subprocess.run(
        command, cwd=work, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    found = mirror.package(directory, VERSION)
    assert found
    lock = (work / ".terraform.lock.hcl").read_text()
    (h1,) = (known for known in mirror.hashes(found) if known.startswith("h1:"))
    assert f'"{h1}"' in lock
    assert f'version     = "{VERSION}"' in lock

"""Where the provider comes from, and what `init` is told about it."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.toolchain.conftest import put, put_go
from tests.toolchain.test_mirror import MAIN, VERSION, laid, packed

from talops.errors import ToolError
from talops.render.tree import PROVIDER_VERSION
from talops.toolchain import mirror, provider
from talops.toolchain.catalog import PROVIDER, catalog
from talops.toolchain.install import Toolchain

if TYPE_CHECKING:
    from collections.abc import Callable

BUILDING = (
    'while [ "$1" != "-o" ]; do shift; done; mkdir -p "$2"; '
    f'echo it > "$2/{mirror.PROGRAM}"; chmod +x "$2/{mirror.PROGRAM}"; exit 0'
)
TOFU = "/usr/bin/tofu"


@pytest.fixture(autouse=True)
def registry(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Which registries answer; none, unless a test names some. Nothing is asked for real."""
    answering: list[str] = []

    async def answers(host: str) -> bool:
        return host in answering

    monkeypatch.setattr(provider, "registry_answers", answers)
    return answering


def chain(tmp_path: Path, **given: str) -> Toolchain:
    environment = {"PATH": f"{tmp_path / 'bin'}:/usr/bin:/bin", "HOME": str(tmp_path), **given}
    return Toolchain(environment, cache=tmp_path / "cache")


def layer(tmp_path: Path, text: str = MAIN) -> Path:
    folder = tmp_path / "layer"
    folder.mkdir()
    (folder / "versions.tf").write_text(text)
    return folder


def locked(folder: Path, *hashes: str, version: str = VERSION) -> None:
    listed = "".join(f'    "{each}",\n' for each in hashes)
    (folder / provider.LOCK_FILE).write_text(
        f'provider "{mirror.OPENTOFU}/{mirror.NAMESPACE}" {{\n'
        f'  version     = "{version}"\n  hashes = [\n{listed}  ]\n}}\n'
    )


async def settings(tmp_path: Path, folder: Path, program: str = TOFU, **given: str) -> str | None:
    found = await provider.settings(chain(tmp_path, **given), folder, Path(program), tmp_path)
    return found.read_text() if found else None


def test_the_layers_require_what_the_toolchain_pins() -> None:
    """Two files name the version; they agree."""
    assert PROVIDER_VERSION == VERSION


async def test_built_once_then_cached(tmp_path: Path) -> None:
    """Without a mirror and a registry it is built, and kept as a mirror for both registries."""
    put_go(tmp_path / "bin", build=BUILDING)
    first = await chain(tmp_path).ensure(PROVIDER)
    again = await chain(tmp_path).ensure(PROVIDER)
    assert (first.origin, again.origin) == ("build", "cache")
    assert first.path == again.path
    assert mirror.holds(first.path, VERSION)


async def test_the_registry_comes_before_a_build(tmp_path: Path, registry: list[str]) -> None:
    """Where it answers, OpenTofu downloads the package and checks its signature."""
    registry.append(mirror.OPENTOFU)
    source = packed(tmp_path / "registry", mirror.OPENTOFU)
    copy = f'cp -r "{tmp_path / "registry"}/." "$target"'
    script = (
        '#!/bin/sh\n[ "$1" = version ] && { echo "OpenTofu v1.12.6"; exit; }\n'
        f"grep -q 'version = \"{VERSION}\"' main.tf || exit 1\nfor target; do :; done\n{copy}\n"
    )
    put(tmp_path / "bin", "tofu", script)
    found = await chain(tmp_path).ensure(PROVIDER)
    kept = mirror.package(found.path, VERSION, [mirror.TERRAFORM])
    assert found.origin == "release"
    assert kept
    assert kept.read_bytes() == source.read_bytes()


@pytest.mark.parametrize("host", mirror.HOSTS)
async def test_a_given_mirror_comes_first(host: str, tmp_path: Path) -> None:
    """Made for one registry it serves both; it is neither copied nor changed."""
    package = packed(tmp_path / "given", host)
    found = await chain(tmp_path, TALOPS_PROVIDER_MIRROR=str(tmp_path / "given")).ensure(PROVIDER)
    assert found.origin == "given"
    for each in mirror.HOSTS:
        seen = mirror.package(found.path, VERSION, [each])
        assert seen
        assert seen.resolve() == package
    again = await chain(tmp_path, TALOPS_PROVIDER_MIRROR=str(tmp_path / "given")).ensure(PROVIDER)
    assert again == found


async def test_a_given_mirror_without_it_is_an_error(tmp_path: Path) -> None:
    """A mirror that is named is meant: nothing else takes its place."""
    put_go(tmp_path / "bin", build=BUILDING)
    with pytest.raises(ToolError, match=f"no bpg/proxmox {VERSION}") as caught:
        await chain(tmp_path, TALOPS_PROVIDER_MIRROR=str(tmp_path)).ensure(PROVIDER)
    assert "unset TALOPS_PROVIDER_MIRROR" in (caught.value.hint or "")


async def test_no_way_names_the_mirror(tmp_path: Path) -> None:
    """Neither registry nor build: the hint says what to set."""
    put_go(tmp_path / "bin", build="exit 1")
    with pytest.raises(ToolError, match="cannot install provider") as caught:
        await chain(tmp_path).ensure(PROVIDER)
    assert "TALOPS_PROVIDER_MIRROR" in (caught.value.hint or "")


async def test_init_honours_a_given_mirror(tmp_path: Path, registry: list[str]) -> None:
    """Also where the registry answers; other providers still come from theirs."""
    registry.extend(mirror.HOSTS)
    directory = laid(tmp_path / "given")
    text = await settings(tmp_path, layer(tmp_path), TALOPS_PROVIDER_MIRROR=str(directory))
    assert text
    assert f'path    = "{directory}"' in text
    assert "direct {" in text


@pytest.mark.parametrize(
    ("program", "host"), [("tofu", mirror.OPENTOFU), ("terraform", mirror.TERRAFORM)]
)
async def test_init_asks_a_registry_that_answers(
    tmp_path: Path, registry: list[str], program: str, host: str
) -> None:
    """Off the lab the registry comes first, for the sake of the lock file."""
    registry.append(host)
    assert await settings(tmp_path, layer(tmp_path), f"/usr/bin/{program}") is None
    assert not (tmp_path / "cache").exists()


async def test_init_falls_back_to_a_built_one(tmp_path: Path) -> None:
    """No registry answers: the provider is built, and the lock file may be written for it."""
    put_go(tmp_path / "bin", build=BUILDING)
    text = await settings(tmp_path, layer(tmp_path))
    assert text
    assert str(tmp_path / "cache/tools/provider" / VERSION) in text


@pytest.mark.parametrize(
    ("main", "given"),
    [
        ('terraform { required_version = ">= 1.10" }', {}),
        (MAIN, {"TF_CLI_CONFIG_FILE": "/theirs.tfrc"}),
    ],
)
async def test_init_is_left_alone(tmp_path: Path, main: str, given: dict[str, str]) -> None:
    """A layer without the provider, and settings of the user's own: nothing is fetched or built."""
    assert await settings(tmp_path, layer(tmp_path, main), **given) is None
    assert not (tmp_path / "cache").exists()


async def test_a_mirror_in_the_users_settings_is_theirs(tmp_path: Path) -> None:
    """OpenTofu reads ~/.tofurc itself."""
    (tmp_path / ".tofurc").write_text("provider_installation {\n  direct {}\n}\n")
    assert await settings(tmp_path, layer(tmp_path)) is None


async def test_a_plugin_folder_of_the_user_is_theirs(tmp_path: Path) -> None:
    """OpenTofu always looks into ~/.terraform.d/plugins."""
    laid(tmp_path / ".terraform.d/plugins")
    assert await settings(tmp_path, layer(tmp_path)) is None


@pytest.mark.parametrize(("version", "enough"), [(VERSION, True), ("0.1.0", False)])
async def test_an_installed_provider_is_not_fetched_again(
    tmp_path: Path, version: str, *, enough: bool
) -> None:
    """`init` for a new backend address needs no registry; one for a new version does."""
    put_go(tmp_path / "bin", build=BUILDING)
    folder = layer(tmp_path)
    locked(folder, "h1:any=", version=version)
    at = folder / ".terraform/providers" / mirror.OPENTOFU / mirror.NAMESPACE / version
    (at / mirror.system()).mkdir(parents=True)
    assert (await settings(tmp_path, folder) is None) is enough


async def test_a_lock_file_that_knows_another_package(tmp_path: Path) -> None:
    """A colleague's lock file from the registry: reported before OpenTofu fails."""
    folder = layer(tmp_path)
    directory = laid(tmp_path / "given")
    locked(folder, "h1:AAAA=", "zh:00")
    with pytest.raises(ToolError, match="lock file does not know") as caught:
        await settings(tmp_path, folder, TALOPS_PROVIDER_MIRROR=str(directory))
    assert "rm " in (caught.value.hint or "")
    found = mirror.package(directory, VERSION)
    assert found
    locked(folder, "h1:AAAA=", *mirror.hashes(found))
    assert await settings(tmp_path, folder, TALOPS_PROVIDER_MIRROR=str(directory))


async def test_a_registrys_archive_is_known_by_its_other_hash(tmp_path: Path) -> None:
    """A lock file made on another platform holds `zh` of all archives and `h1` of its own."""
    folder = layer(tmp_path)
    package = packed(tmp_path / "given", mirror.OPENTOFU)
    (zh,) = (known for known in mirror.hashes(package) if known.startswith("zh:"))
    locked(folder, "h1:AAAA=", zh)
    assert await settings(tmp_path, folder, TALOPS_PROVIDER_MIRROR=str(tmp_path / "given"))


@pytest.mark.parametrize(("version", "wanted"), [("0.1.0", True), (VERSION, False)])
def test_a_raised_pin_needs_an_upgrade(tmp_path: Path, version: str, *, wanted: bool) -> None:
    """OpenTofu refuses a lock file with another version unless it is told to upgrade."""
    folder = layer(tmp_path)
    assert not provider.outdated(folder, VERSION)
    locked(folder, "h1:AAAA=", version=version)
    assert provider.outdated(folder, VERSION) is wanted


@pytest.mark.slow
def test_the_real_one_is_what_it_says(tool: Callable[[str], Path]) -> None:
    """The mirror that tests use holds a plugin of HashiCorp's kind, which refuses to run alone."""
    package = mirror.package(tool(PROVIDER), VERSION)
    assert package
    if package.is_dir():
        program = package / f"{mirror.PROGRAM}_v{VERSION}"
        done = subprocess.run([program], capture_output=True, text=True, check=False)
        assert done.returncode != 0
        assert "plugin" in done.stdout + done.stderr
    assert catalog()[PROVIDER].build.module.endswith(f" v{VERSION}")

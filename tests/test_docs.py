"""The docs are part of the product: generated ones are up to date, links lead somewhere."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from talops.cli.app import COMMANDS, build
from talops.cli.reference import cli_reference, leaves
from talops.inventory.reference import inventory_reference

ROOT = Path(__file__).parent.parent
SRC = ROOT / "src" / "talops"
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").glob("*.md")])


@pytest.mark.parametrize(
    ("page", "text"), [("cli.md", cli_reference), ("inventory.md", inventory_reference)]
)
def test_reference_is_up_to_date(page: str, text: object) -> None:
    """`make docs` writes them."""
    assert callable(text)
    assert (ROOT / "docs" / page).read_text(encoding="utf-8") == text()


def test_every_command_explains_itself() -> None:
    """Help texts for commands, arguments and flags."""
    silent = []
    for name, command in leaves("talops", build(list(COMMANDS))):
        if not (command.help or "").strip():
            silent.append(name)
        silent += [f"{name} {p.name}" for p in command.params if not getattr(p, "help", None)]
    assert silent == []


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_links_lead_somewhere(page: Path) -> None:
    """Relative links of every page."""
    for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), target


def test_every_page_is_listed_in_the_readme() -> None:
    """A page without a link is not read."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    missing = [p.name for p in (ROOT / "docs").glob("*.md") if f"docs/{p.name}" not in readme]
    assert missing == []


def test_contributing_fits_on_a_page() -> None:
    """Short enough to be read."""
    assert len((ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").splitlines()) <= 60


def packages() -> set[str]:
    found = {path.stem for path in SRC.glob("*.py")} - {"__init__", "__main__"}
    return found | {path.parent.name for path in SRC.glob("*/__init__.py")}


def test_architecture_describes_every_package() -> None:
    """One sentence each, and none for a package that does not exist."""
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    assert len(page.splitlines()) <= 120
    described = re.findall(r"^- `(\w+)` [^\n]+\.$", page, flags=re.MULTILINE)
    assert sorted(described) == sorted(packages())


def test_architecture_names_existing_files() -> None:
    """A moved module changes the walk through `talops up`."""
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    files = re.findall(r"`([\w/]+\.py)`", page)
    assert len(files) > 8
    places = (SRC, ROOT)
    assert [f for f in files if not any((place / f).is_file() for place in places)] == []


def test_contributing_lists_every_package() -> None:
    """The table of packages has all of them, and nothing else."""
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    table = page.partition("## Packages")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| ((?:`\w+`(?: → )? ?)+)\|", table, flags=re.MULTILINE)
    listed = [name for row in rows for name in re.findall(r"`(\w+)`", row)]
    assert sorted(listed) == sorted(packages())


def test_contributing_names_what_exists() -> None:
    """Make targets, files, markers of tests, and every package that talops depends on."""
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    targets = re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)
    assert set(re.findall(r"`make (\w+)`", page)) <= set(targets)
    files = re.findall(r"`((?:tests|docs|src)/[\w/.]+)`", page)
    assert len(files) > 3
    assert [name for name in files if not (ROOT / name).exists()] == []
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    markers = {
        re.split(r"[(:]", text)[0] for text in project["tool"]["pytest"]["ini_options"]["markers"]
    }
    assert markers == {"slow", "chaos", "sampled"}
    assert all(f"`{marker}`" in page for marker in markers)


def test_contributing_gives_a_reason_for_every_dependency() -> None:
    """The table has what pyproject.toml has, and nothing else."""
    page = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| ([^|]+) \|", page.partition("## Dependencies")[2], re.MULTILINE)
    words = {word.lower() for row in rows[2:] for word in re.findall(r"[\w.-]+", row)}
    listed = words - {"tests", "state", "lab", "gates", "web", "extra", "clib"} | {
        "ruamel.yaml.clib"
    }
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    extras = project["project"]["optional-dependencies"]
    optional = [d for extra in extras.values() for d in extra]
    needed = {name_of(d) for d in [*project["project"]["dependencies"], *optional]}
    development = {name_of(d) for d in project["dependency-groups"]["dev"]}
    assert needed <= listed
    assert listed - needed <= development


def name_of(requirement: str) -> str:
    return re.split(r"[\[<>=~! ]", requirement)[0].lower()

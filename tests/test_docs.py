"""The docs are part of the product: generated ones are up to date, links lead somewhere."""

from __future__ import annotations

import re
import runpy
import tomllib
from pathlib import Path

import pytest

from talops.cli.app import COMMANDS, build
from talops.cli.reference import leaves

ROOT = Path(__file__).parent.parent
SRC = ROOT / "src" / "talops"
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])


def test_reference_is_up_to_date() -> None:
    """`make docs` writes the reference pages, the list of all pages and the navigation."""
    script = runpy.run_path(str(ROOT / "scripts" / "reference"))
    outdated = [path for path, text in script["written"]().items() if path.read_text() != text]
    assert outdated == []


def test_every_command_explains_itself() -> None:
    """Help texts for commands, arguments and flags."""
    silent = []
    for name, command in leaves("talops", build(list(COMMANDS))):
        if not (command.help or "").strip():
            silent.append(name)
        silent += [f"{name} {p.name}" for p in command.params if not getattr(p, "help", None)]
    assert silent == []


LINK = re.compile(r"\]\((?!https?:)([^)#]*)(?:#([^)]*))?\)")
FENCED = re.compile(r"^ *```.*?^ *```$|<!--.*?-->", re.DOTALL | re.MULTILINE)


def prose(page: Path) -> str:
    """Without blocks of code and comments."""
    return FENCED.sub("", page.read_text(encoding="utf-8"))


def anchors(page: Path) -> set[str]:
    """Of its headings, as GitHub and Python-Markdown make them."""
    titles = re.findall(r"^#+ (.+)$", prose(page), flags=re.MULTILINE)
    plain = [re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", title) for title in titles]
    return {re.sub(r"\s", "-", re.sub(r"[^\w\s-]", "", t.lower()).strip()) for t in plain}


def links(page: Path) -> list[tuple[Path, str]]:
    return [
        ((page.parent / target).resolve() if target else page, anchor)
        for target, anchor in LINK.findall(prose(page))
    ]


@pytest.mark.parametrize("page", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_links_lead_somewhere(page: Path) -> None:
    """Relative links of every page: to a file, and to one of its headings."""
    for target, anchor in links(page):
        assert target.exists(), target
        assert not anchor or anchor in anchors(target), f"{target.name}#{anchor}"


def test_every_page_is_three_clicks_from_the_readme() -> None:
    """A page that is not reached is not read."""
    reached = {ROOT / "README.md"}
    for _ in range(3):
        reached |= {to for page in reached if page.suffix == ".md" for to, _ in links(page)}
    assert [str(page.relative_to(ROOT)) for page in PAGES if page not in reached] == []


def test_the_readme_is_short() -> None:
    """60 lines, and no link that only a list of links has."""
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 60


LONGEST_SENTENCE = 35
FOLLOWED = [p for p in PAGES if p.parent.name in {"tutorial", "how-to", "fix"}]


def sentences(text: str) -> list[str]:
    """Of paragraphs, items and rows; a code span or a link is one word."""
    plain = re.sub(r"`[^`]*`", "code", re.sub(r"\]\([^)]*\)", "]", text))
    parts = re.split(r"\n\s*\n|\n\s*(?:[-*]|\d+\.) |\n#+ |\n\||[.:;!?](?=\s)| \| ", plain)
    return [" ".join(part.split()) for part in parts]


def test_sentences_are_short_where_commands_are_followed() -> None:
    """A person reads them at three in the morning, perhaps in their third language."""
    assert FOLLOWED
    long = [
        (page.name, sentence)
        for page in FOLLOWED
        for sentence in sentences(prose(page))
        if len(sentence.split()) > LONGEST_SENTENCE
    ]
    assert long == []


def test_a_long_sentence_is_found() -> None:
    """Across lines; not across items."""
    words = "word " * 20
    assert max(len(s.split()) for s in sentences(f"{words}\n{words}. End.")) == 40
    assert max(len(s.split()) for s in sentences(f"- {words}\n- {words}")) == 21


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
    optional = [d for name, extra in extras.items() if name != "all" for d in extra]
    needed = {name_of(d) for d in [*project["project"]["dependencies"], *optional]}
    development = {name_of(d) for d in project["dependency-groups"]["dev"]}
    assert needed <= listed
    assert listed - needed <= development


def name_of(requirement: str) -> str:
    return re.split(r"[\[<>=~! ]", requirement)[0].lower()

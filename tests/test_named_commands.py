"""Whatever a hint, a help text or a page tells people to type is there to be typed."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from talops.cli.app import COMMANDS, build

ROOT = Path(__file__).parent.parent
PLACES = sorted(
    [
        *ROOT.glob("src/**/*.py"),
        *ROOT.glob("docs/**/*.md"),
        ROOT / "README.md",
        *ROOT.glob("examples/**/*.md"),
    ]
)
NAMED = re.compile(
    r'`(talops [^`\n]+)`|hint=f?"(talops [^"]+)"|^(?:\$ )?(talops [^#\n]+)  +#', re.MULTILINE
)
# Of a block: what a reader types, with the lines that continue it.
_COMMAND = r"(?:[A-Z_]+=\S+ )*(talops (?:[^\n]*\\\n)*[^\n]*)"
TYPED = re.compile(rf"^ *(?:\$ )?{_COMMAND}", re.MULTILINE)
SHOWN = re.compile(rf"^ *\$ {_COMMAND}", re.MULTILINE)
BLOCK = re.compile(r"^ *```(console|sh|bash)[^\n]*\n(.*?)^ *```$", re.DOTALL | re.MULTILINE)
# Where the command ends and words about it begin, or a value is put in.
END = re.compile(r"[,;:{|…]| -- | then | again\b")


def commands() -> Any:
    return build(list(COMMANDS))


def wrong(line: str, command: Any) -> str | None:
    """The first word of it that talops would not understand."""
    words = END.split(line)[0].split()[1:]
    while words and words[0] in getattr(command, "commands", {}):
        command = command.commands[words.pop(0)]
    if words and getattr(command, "commands", None) and not words[0].startswith(("-", "<", "[")):
        return words[0]
    flags = {flag for param in command.params for flag in (*param.opts, *param.secondary_opts)}
    typed = [word.partition("=")[0].strip("[]().") for word in words]
    return next((w for w in typed if w.startswith("-") and w not in {*flags, "--help"}), None)


@pytest.mark.parametrize(
    ("line", "word"),
    [
        ("talops up --yes", None),
        ("talops secrets init, then commit", None),
        ("talops elevate", "elevate"),
        ("talops secrets invent", "invent"),
        ("talops up --fast", "--fast"),
    ],
)
def test_a_wrong_word_is_found(line: str, word: str | None) -> None:
    """A check that could not fail would be none."""
    assert wrong(line, commands()) == word


def typed(page: str) -> list[str]:
    """The commands of talops in the blocks of a page, without remarks and other programs."""
    found = [
        line
        for kind, block in BLOCK.findall(page)
        for line in (SHOWN if kind == "console" else TYPED).findall(block)
    ]
    whole = [line.replace("\\\n", " ") for line in found]
    return [re.split(r"\s+#|\s(?:\||&&?|>>?|<)(?:\s|$)|\)\"", line)[0].strip() for line in whole]


def test_typed_commands_are_found() -> None:
    """Continued lines are one command; output and other programs are none."""
    page = "```console\n$ talops up \\\n  --yes  # go\ntalops is here\n$ cd x && talops b\n```\n"
    assert typed(page)[0].split() == ["talops", "up", "--yes"]
    assert typed("```sh\nTALOPS_X=1 talops check | cat\n```") == ["talops check"]
    assert typed("talops up\n") == []


def test_typed_commands_exist() -> None:
    """In every block that a reader copies: each command, and each flag that it is given."""
    tree = commands()
    pages = {place: typed(place.read_text("utf-8")) for place in PLACES if place.suffix == ".md"}
    assert sum(map(len, pages.values())) > 80
    assert [
        f"{place.name}: {line}: {word}"
        for place, lines in pages.items()
        for line in lines
        if (word := wrong(line, tree))
    ] == []


def test_named_commands_exist() -> None:
    """Commands and flags; there are enough of them to know that they were found at all."""
    tree = commands()
    named = [
        (place.relative_to(ROOT), next(filter(None, groups)))
        for place in PLACES
        for groups in NAMED.findall(place.read_text(encoding="utf-8"))
    ]
    assert len(named) > 100
    assert [f"{place}: {line}: {w}" for place, line in named if (w := wrong(line, tree))] == []

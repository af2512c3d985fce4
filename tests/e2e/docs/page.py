"""What a page of docs/ tells its reader to type, and what it says they will see.

- A block `console` is a terminal: `$ ` begins a command, which a trailing backslash or lines with
  `> ` continue; all other lines are output, each found in this order. `…` is any text. A line that
  ends with what is typed at a question, such as `[y/N]: y`, is typed there.
- `<!-- exit 4 -->` before a block is the exit code of its last command; otherwise all are 0.
- `<!-- append FILE -->` and `<!-- write FILE -->` before another block put it into a file.
- `<!-- lab` … `-->` has commands, one per line, that only the lab needs, such as faults.
- `<!-- not run: REASON -->` leaves out a block, such as one for a real Proxmox only.
"""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass, field
from pathlib import Path

DOCS = Path(__file__).parents[3] / "docs"
_FENCE = re.compile(r"^(?P<indent> *)```(?P<kind>\w*)[^\n`]*$")
_COMMENT = re.compile(r"<!-- (?P<text>.*?)\s*-->", re.DOTALL)
_ASKED = re.compile(r"^(?P<question>.*(?:\[y/N\]|to confirm|\[\S+\])): (?P<answer>\S+)$")


@dataclass(frozen=True)
class Command:
    """One thing to type, and what follows."""

    line: int
    text: str
    expected: tuple[str, ...] = ()
    code: int = 0

    @property
    def answers(self) -> list[tuple[str, str]]:
        """Questions, and what is typed there."""
        found = map(_ASKED.match, self.expected)
        return [(match["question"], match["answer"]) for match in found if match]


@dataclass(frozen=True)
class Page:
    path: Path
    title: str
    commands: tuple[Command, ...]
    # Typed as well, but not where a lab is.
    elsewhere: tuple[Command, ...] = ()
    settings: dict[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        inside = self.path.is_relative_to(DOCS)
        return str(self.path.relative_to(DOCS)) if inside else self.path.name


def read(path: Path) -> Page:
    text = path.read_text(encoding="utf-8")
    reader = _Reader()
    lines = text.splitlines()
    number = 0
    while number < len(lines):
        number = reader.take(lines, number)
    title = next(line for line in lines if line.startswith("# ")).removeprefix("# ")
    return Page(path, title, tuple(reader.run), tuple(reader.left), reader.settings)


class _Reader:
    def __init__(self) -> None:
        self.run: list[Command] = []
        self.left: list[Command] = []
        self.settings: dict[str, str] = {}
        self._said = ""

    def take(self, lines: list[str], number: int) -> int:
        """Read what begins here; the number of the next line."""
        line = lines[number].strip()
        if line.startswith("<!--"):
            end = next(n for n in range(number, len(lines)) if "-->" in lines[n])
            self._comment("\n".join(lines[number : end + 1]).strip(), number + 1)
            return end + 1
        if fence := _FENCE.match(lines[number]):
            close = f"{fence['indent']}```"
            end = next(n for n in range(number + 1, len(lines)) if lines[n] == close)
            block = [text.removeprefix(fence["indent"]) for text in lines[number + 1 : end]]
            self._block(fence["kind"], block, number + 2)
            self._said = ""
            return end + 1
        if line:
            self._said = ""
        return number + 1

    def _comment(self, text: str, line: int) -> None:
        match = _COMMENT.fullmatch(text)
        assert match, f"line {line}: not a comment: {text}"
        word, _, rest = match["text"].partition("\n")
        if word == "lab":
            numbered = enumerate(rest.splitlines(), line + 1)
            self.run += [Command(n, command) for n, command in numbered if command.strip()]
        elif word.startswith("setting "):
            name, _, value = word.removeprefix("setting ").partition("=")
            self.settings[name] = value
        else:
            known = ("exit ", "append ", "write ", "not run: ")
            assert word.startswith(known), f"line {line}: unknown comment {word!r}"
            self._said = word

    def _block(self, kind: str, lines: list[str], first: int) -> None:
        word, _, rest = self._said.partition(" ")
        if kind == "console":
            commands = typed(lines, first)
            if word == "exit":
                commands[-1] = Command(
                    commands[-1].line, commands[-1].text, commands[-1].expected, int(rest)
                )
            (self.left if word == "not" else self.run).extend(commands)
        elif word in {"append", "write"}:
            into = f"{'>>' if word == 'append' else '>'} {shlex.quote(rest)}"
            body = "\n".join(lines)
            self.run.append(Command(first, f"cat {into} <<'END-OF-BLOCK'\n{body}\nEND-OF-BLOCK"))


def typed(lines: list[str], first: int) -> list[Command]:
    """The commands of one block, each with the lines that it prints."""
    found: list[Command] = []
    text, start, expected = "", 0, list[str]()

    def close() -> None:
        if text:
            found.append(Command(start, text, tuple(expected)))

    for number, line in enumerate(lines, first):
        if text.endswith("\\") and not expected:
            text = f"{text[:-1]} {line.strip()}"
        elif line.startswith("> ") and not expected:
            text = f"{text}\n{line[2:]}"
        elif line.startswith("$ "):
            close()
            text, start, expected = _without_comment(line[2:]), number, []
        elif line.strip():
            assert text, f"line {number}: output without a command"
            expected.append(line.strip())
    close()
    return found


def _without_comment(text: str) -> str:
    """A remark beside a command: two spaces and `#`."""
    return re.split(r"\s{2,}# ", text)[0].rstrip()


def pattern(expected: str) -> re.Pattern[str]:
    """Of a line that was promised; runs of spaces count as one."""
    parts = [r"\s+".join(map(re.escape, part.split())) for part in expected.split("…")]
    return re.compile(r"\s*.*?\s*".join(parts))


def missing(expected: tuple[str, ...], output: str) -> str | None:
    """The first line that was promised and did not come, in this order."""
    lines = iter(output.splitlines())
    for promised in expected:
        if promised == "…":
            continue
        wanted = pattern(promised)
        if not any(wanted.search(line) for line in lines):
            return promised
    return None

"""What commands promise to programs: exit codes, keys and types of their JSON, and its words."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

GOLDEN = Path(__file__).parents[1] / "golden" / "commands"
UPDATE = "TALOPS_UPDATE_GOLDENS"


@dataclass(frozen=True)
class Answer:
    """How one command ended. `as_json`: its output is a document, or one per line."""

    code: int
    out: str
    as_json: bool = True


# Values that programs compare with: recorded themselves, not only their type.
STABLE = frozenset({"action", "outlook", "status"})
WORDS = STABLE | {"effect", "impact", "level", "rule", "severity", "step", "verdict"}
# Events that appear where something takes its time, or where OpenTofu has something to remark.
FLEETING = frozenset(
    {"diagnostic", "log", "note", "part_progress", "resource_drifted", "wait_progress"}
)


def keys_of(code: int, out: str) -> Answer:
    """The keys alone, of a command whose values depend on time and machine."""
    try:
        return Answer(code, json.dumps(_emptied(json.loads(out))))
    except json.JSONDecodeError:
        events = [json.loads(line) for line in out.splitlines()]
    lasting = [event for event in events if event["kind"] not in FLEETING]
    return Answer(code, "\n".join(json.dumps(_emptied(e) | {"kind": e["kind"]}) for e in lasting))


def _emptied(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: v if key in STABLE else _emptied(v) for key, v in value.items()}
    return [_emptied(inner) for inner in value] if isinstance(value, list) else ""


def recorded(answers: Mapping[str, Answer]) -> str:
    """One paragraph per command: its exit code, then each key of its output with its types."""
    return "\n".join(_paragraph(name, answer) for name, answer in answers.items())


def compare(group: str, answers: Mapping[str, Answer]) -> None:
    """A removed key, another type and another exit code break programs of users."""
    golden, known, text = _both(group, answers)
    assert text == known, (
        f"exit codes or JSON keys differ from {golden}. A key that is removed, renamed or of "
        "another type needs a reason, and a line in CHANGELOG; for new keys run this test with "
        f"{UPDATE}=1"
    )


def compare_known(group: str, answers: Mapping[str, Answer]) -> None:
    """The same for what depends on time: all that is on record is there; more may be."""
    golden, known, text = _both(group, answers)
    assert missing(known, text) == [], (
        f"exit codes, JSON keys or words of {golden} are missing. If there is a reason, write a "
        f"line in CHANGELOG and run this test with {UPDATE}=1"
    )


def _both(group: str, answers: Mapping[str, Answer]) -> tuple[Path, str, str]:
    golden, text = GOLDEN / f"{group}.txt", recorded(answers)
    if os.environ.get(UPDATE):
        golden.write_text(text, encoding="utf-8")
    return golden, golden.read_text(encoding="utf-8"), text


def missing(known: str, text: str) -> list[str]:
    """The lines on record of which something is missing."""
    now = _rows(text)
    return [
        " ".join(row) for row, kinds in _rows(known).items() if not kinds <= now.get(row, set())
    ]


def _rows(text: str) -> dict[tuple[str, str], set[str]]:
    """(command with its exit code, path) → types and words."""
    rows: dict[tuple[str, str], set[str]] = {}
    for paragraph in filter(None, text.split("\n\n")):
        name, *lines = paragraph.strip().splitlines()
        rows[name, ""] = set()
        for line in lines:
            path, _, kinds = line.strip().partition(" ")
            rows[name, path] = set(kinds.split("|"))
    return rows


def _paragraph(name: str, answer: Answer) -> str:
    lines = [f"{name}: exit {answer.code}"]
    if answer.as_json:
        found: dict[str, set[str]] = {}
        for path, kind in _documents(answer.out):
            found.setdefault(path, set()).add(kind)
        lines += [f"  {path or '(all)'} {'|'.join(sorted(found[path]))}" for path in sorted(found)]
    return "\n".join(lines) + "\n"


def _documents(out: str) -> Iterator[tuple[str, str]]:
    """Of one document, or of the lines of a stream: events are distinguished by their kind."""
    if not out.strip():
        return
    try:
        yield from shape(json.loads(out))
    except json.JSONDecodeError:
        for line in out.splitlines():
            event = json.loads(line)
            kind = event.pop("kind")
            yield from shape(event, f"<{kind}>")


def shape(value: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """The path of each value and its type; the items of a list are one."""
    match value:
        case dict():
            yield from [] if value else [(path, "object")]
            for key, inner in value.items():
                word = key in WORDS and isinstance(inner, str) and inner != ""
                yield from (
                    [(f"{path}.{key}", f'"{inner}"')] if word else shape(inner, f"{path}.{key}")
                )
        case list():
            yield from [] if value else [(f"{path}[]", "list")]
            for inner in value:
                yield from shape(inner, f"{path}[]")
        case None:
            yield path, "null"
        case bool():
            yield path, "boolean"
        case int() | float():
            yield path, "number"
        case _:
            yield path, "string"

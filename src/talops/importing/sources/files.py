"""The files of a source: bounded, decrypted beforehand, with the line of every key."""

from __future__ import annotations

import re
import stat
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from talops.errors import TalopsError
from talops.importing.model import Left
from talops.inventory.source import Document as Positions
from talops.inventory.source import read_text
from talops.machineconfig import yamltext
from talops.problems import Position

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

MOST_BYTES = 8 * 1024 * 1024
_ENCRYPTED = re.compile(r"^(sops:|\s+\"sops\": |sops_)", re.MULTILINE)
_CIPHER = "ENC[AES256_GCM,"


@dataclass
class Source:
    """`decrypted`: the plain text of files that SOPS encrypted, by resolved path."""

    root: Path
    decrypted: Mapping[Path, str] = field(default_factory=dict, repr=False)
    left: list[Left] = field(default_factory=list)
    secret_values: set[str] = field(default_factory=set, repr=False)

    def name_of(self, path: Path) -> str:
        try:
            return str(path.resolve().relative_to(self.root.resolve()))
        except ValueError:
            return str(path)

    def exists(self, name: str) -> bool:
        return (self.root / name).is_file()

    def text(self, path: Path) -> str:
        """Decrypted if it is encrypted; an encrypted file without its text is an error."""
        self.require_inside(path)
        shown = self.name_of(path)
        if (known := self.decrypted.get(path.resolve())) is not None:
            return known
        text = plain_text(path, shown)
        if is_encrypted(text):
            raise TalopsError(
                "the file is encrypted, and no key opens it",
                where=shown,
                hint="set SOPS_AGE_KEY_FILE to the key of the source",
            )
        return text

    def require_inside(self, path: Path) -> None:
        """A source of others may name, or link to, any file of this user."""
        if not path.resolve().is_relative_to(bounds(self.root)):
            raise TalopsError(
                "this file is outside of the source",
                where=self.name_of(path),
                hint="copy it into the source, and correct the path there",
            )

    def is_sealed(self, path: Path) -> bool:
        return path.resolve() in self.decrypted

    def yaml(self, path: Path, text: str | None = None) -> Parsed:
        return parsed(self.name_of(path), self.text(path) if text is None else text)

    def leave(self, parsed: Parsed, loc: Iterable[str | int], why: str) -> None:
        place = tuple(loc)
        self.left.append(Left(_dotted(place), parsed.where(place), why))

    def leave_unknown(
        self, parsed: Parsed, loc: tuple[str | int, ...], given: Any, known: Iterable[str]
    ) -> None:
        """Every key of a mapping that this importer does not know."""
        names = frozenset(known)
        for key in given if isinstance(given, dict) else ():
            if key not in names:
                self.leave(parsed, (*loc, key), "not supported")


@dataclass(frozen=True)
class Parsed:
    """`data` as Go reads it; `at` has the positions."""

    file: str
    data: Any = field(repr=False)
    at: Positions = field(repr=False)

    def where(self, loc: tuple[str | int, ...]) -> Position:
        found = self.at.key(loc)
        return Position(self.file, found.line, found.column)

    def mapping(self) -> dict[str, Any]:
        if not isinstance(self.data, dict):
            raise TalopsError("does not contain keys and values", where=self.file)
        return self.data

    def error(self, loc: tuple[str | int, ...], what: str, hint: str | None = None) -> TalopsError:
        return TalopsError(what, where=str(self.where(loc)), hint=hint)


def bounds(root: Path) -> Path:
    """What belongs to a source: the whole repository that it is in, or its own directory."""
    top = root.resolve()
    top = top if top.is_dir() else top.parent
    return next((folder for folder in (top, *top.parents) if (folder / ".git").exists()), top)


def parsed(name: str, text: str) -> Parsed:
    positions, problems = read_text(text, name)
    fatal = [problem for problem in problems if problem.rule in {"yaml", "too-deep", "alias-bomb"}]
    if fatal and positions.data is None:
        raise TalopsError(fatal[0].what, where=str(fatal[0].where), hint=fatal[0].hint)
    return Parsed(name, yamltext.load(text, where=name), positions)


def plain_text(path: Path, shown: str) -> str:
    try:
        found = path.stat()
        if not stat.S_ISREG(found.st_mode):
            raise TalopsError("this is not a file", where=shown)
        if found.st_size > MOST_BYTES:
            raise TalopsError(f"the file is larger than {MOST_BYTES >> 20} MiB", where=shown)
        return path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise TalopsError("the file does not exist", where=shown) from None
    except (OSError, ValueError) as error:
        raise TalopsError(f"cannot be read: {error}", where=shown) from None


def is_encrypted(text: str) -> bool:
    return _CIPHER in text and bool(_ENCRYPTED.search(text))


def _dotted(loc: tuple[str | int, ...]) -> str:
    text = ""
    for part in loc:
        text += f"[{part}]" if isinstance(part, int) else f".{part}"
    return text.lstrip(".")

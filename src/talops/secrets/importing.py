"""Move credentials out of cluster.yaml; every other byte stays unchanged."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode

from talops.errors import InventoryError, TalopsError
from talops.files import write_atomic
from talops.redaction import Secret
from talops.secrets.vault import KNOWN, Vault, mode_of

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True)
class PlainCredential:
    """A credential in the inventory and its lines (first, and the one after the last)."""

    name: str
    value: Secret
    first: int
    end: int


async def import_credentials(vault: Vault, inventory: Path) -> list[str]:
    """Encrypt, verify, then remove the lines; returns the moved names."""
    text = _read(inventory)
    found = find_credentials(text, str(inventory))
    if not found:
        return []
    held = await vault.read()
    _refuse_contradictions(found, held, inventory)
    await vault.write({item.name: item.value for item in found})
    stored = await vault.read()
    if any(stored.get(item.name) != item.value for item in found):
        raise TalopsError("the encrypted file cannot be read back", where=str(vault.file))
    write_atomic(inventory, without_lines(text, found), mode=mode_of(inventory))
    return [item.name for item in found]


def _read(inventory: Path) -> str:
    try:
        return inventory.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InventoryError(f"cannot be read: {error}", where=str(inventory)) from error


def find_credentials(text: str, where: str) -> list[PlainCredential]:
    """The known names at the top level that have a value."""
    try:
        # The round-trip loader would add marks to folded text.
        root: Any = YAML(typ="safe", pure=True).compose(text)
    except YAMLError as error:
        raise InventoryError(f"cannot be parsed: {error}", where=where) from None
    if not isinstance(root, MappingNode):
        return []
    return [
        PlainCredential(key.value, Secret(value.value), key.start_mark.line, _end(value))
        for key, value in root.value
        if key.value in KNOWN and isinstance(value, ScalarNode) and value.value not in {"", "null"}
    ]


def without_lines(text: str, found: list[PlainCredential]) -> str:
    gone = {number for item in found for number in range(item.first, item.end)}
    lines = text.splitlines(keepends=True)
    left = "".join(line for number, line in enumerate(lines) if number not in gone)
    _prove(text, left, {item.name for item in found})
    return left


def _end(value: Node) -> int:
    mark = value.end_mark
    # A block scalar ends where the next line begins; others end inside their last line.
    ends_before = mark.column == 0 and mark.line > value.start_mark.line
    return int(mark.line if ends_before else mark.line + 1)


def _prove(before: str, after: str, names: set[str]) -> None:
    old = YAML(typ="safe", pure=True).load(before)
    if {k: v for k, v in old.items() if k not in names} != (
        YAML(typ="safe", pure=True).load(after) or {}
    ):
        raise TalopsError(
            "the credentials share lines with other keys",
            hint="write each credential on its own line, then run the same command again",
        )


def _refuse_contradictions(
    found: list[PlainCredential], held: dict[str, Secret], inventory: Path
) -> None:
    for item in found:
        if item.name in held and held[item.name] != item.value:
            raise TalopsError(
                f"{item.name} has different values here and in the encrypted file",
                where=f"{inventory}:{item.first + 1}",
                hint=f"remove this line, or correct the other: talops secrets set {item.name}",
            )

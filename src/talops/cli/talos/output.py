"""Output of `talops talos`: a plain table, JSON or YAML, and the nodes that did not answer."""

from __future__ import annotations

import dataclasses
import io
import sys
from collections.abc import Awaitable, Callable, Iterable, Sequence
from datetime import datetime
from ipaddress import IPv4Address, IPv6Address
from typing import TYPE_CHECKING, Any, TypeVar

from talops.app.talos_nodes import name_of
from talops.cli.output import print_error, print_json
from talops.cli.talos.session import Format
from talops.errors import TalopsError

if TYPE_CHECKING:
    from talops.talos.client import Talos

T = TypeVar("T")
Row = dict[str, Any]
SIZES = {"size", "db_size", "db_size_in_use"}
_THOUSAND = 1000


async def ask_all(
    nodes: Sequence[Talos], call: Callable[[Talos], Awaitable[T]]
) -> tuple[list[tuple[str, T]], list[TalopsError]]:
    """The answer of each node under its name, and the errors of the other nodes."""
    from talops.talos.client import each

    good, bad = [], []
    for node, answer in await each(nodes, call):
        if isinstance(answer, TalopsError):
            bad.append(answer)
        else:
            good.append((name_of(node), answer))
    return good, bad


def emit(
    rows: Sequence[Row],
    columns: Iterable[str],
    output: Format,
    errors: Sequence[TalopsError] = (),
) -> None:
    """Print the answers; then fail if a node did not answer."""
    if output is Format.JSON:
        print_json([plain(row) for row in rows])
    elif output is Format.YAML:
        sys.stdout.write(to_yaml([plain(row) for row in rows]))
    elif rows:
        print_table(rows, list(columns))
    raise_for(errors)


def raise_for(errors: Sequence[TalopsError]) -> None:
    """All errors are shown; the last one sets the exit code."""
    for error in errors[:-1]:
        print_error(error)
    if errors:
        raise errors[-1]


def print_table(rows: Sequence[Row], columns: list[str]) -> None:
    cells = [[column.upper().replace("_", " ") for column in columns]]
    cells += [[cell(row.get(column), column) for column in columns] for row in rows]
    widths = [max(len(line[i]) for line in cells) for i in range(len(columns))]
    for line in cells:
        text = "   ".join(value.ljust(width) for value, width in zip(line, widths, strict=True))
        sys.stdout.write(text.rstrip() + "\n")


def cell(value: Any, column: str = "") -> str:
    if column in SIZES and isinstance(value, int):
        return human(value)
    if value is None or value == "":
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list | tuple):
        return ",".join(cell(part) for part in value) or "-"
    if isinstance(value, datetime):
        return value.isoformat(timespec="seconds")
    return str(value)


def human(size: float) -> str:
    """Bytes in decimal units, like disk sizes: 21.5 GB."""
    for unit in ("B", "kB", "MB", "GB"):
        if size < _THOUSAND:
            return f"{size:.3g} {unit}"
        size /= _THOUSAND
    return f"{size:.3g} TB"


def plain(value: Any) -> Any:
    """Dataclasses, times and addresses as JSON and YAML values."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: plain(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if isinstance(value, dict):
        return {str(key): plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [plain(part) for part in value]
    if isinstance(value, datetime):
        return value.isoformat()
    return str(value) if isinstance(value, IPv4Address | IPv6Address) else value


def to_yaml(value: Any) -> str:
    from ruamel.yaml import YAML

    yaml = YAML()
    yaml.width = 1_000_000
    out = io.StringIO()
    yaml.dump(value, out)
    return out.getvalue()


def row(node: str, value: Any) -> Row:
    """A dataclass as a table row, with the node it came from."""
    return {"node": node, **{f.name: getattr(value, f.name) for f in dataclasses.fields(value)}}

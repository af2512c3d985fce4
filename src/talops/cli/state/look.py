"""`talops state list|show|versions|diff|locks`: read states from any backend."""

from __future__ import annotations

import sys
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from talops.cli.options import Directory, Format, Output
from talops.cli.output import console, note, print_json
from talops.cli.state.opening import with_backend
from talops.errors import TalopsError
from talops.site.run_lock import SUFFIX

if TYPE_CHECKING:
    from collections.abc import Sequence

    from talops.statestore.backends.interface import StateBackend, StateInfo

State = Annotated[str, typer.Argument(help="Name of the state, like 01-hypervisors.")]
Version = Annotated[
    str | None, typer.Option("--version", help="Show this version instead of the newest state.")
]


def register(group: typer.Typer) -> None:
    group.command("list")(list_states)
    group.command("show")(show)
    group.command("versions")(versions)
    group.command("diff")(diff)
    group.command("locks")(locks)


def list_states(directory: Directory = None, output: Output = Format.TEXT) -> None:
    """List the states of this inventory with serial, size and lock."""
    found = with_backend(directory, lambda backend: backend.overview())
    if output is Format.JSON:
        print_json([_info(each) for each in found])
        return
    rows = [
        (each.name, str(each.serial) if each.exists else "-", _size(each), condition(each))
        for each in found
    ]
    _table(("state", "serial", "size", "condition"), rows)


def show(
    state: State,
    version: Version = None,
    raw: Annotated[
        bool, typer.Option("--raw", help="Print the complete state, including secrets.")
    ] = False,
    directory: Directory = None,
    output: Output = Format.TEXT,
) -> None:
    """List the resource addresses in a state; values only with --raw."""
    from talops.statestore.backends.contents import contents_of

    data = with_backend(directory, lambda backend: _read(backend, state, version))
    if raw:
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
        return
    found = contents_of(data)
    if output is Format.JSON:
        print_json(asdict(found) | {"resources": sorted(found.resources)} | _outputs(found.outputs))
        return
    note(f"serial {found.serial}, lineage {found.lineage}, {len(data)} bytes")
    if found.encrypted:
        note("encrypted by the client: only tofu with the passphrase can read the content")
    for address in [
        *sorted(found.resources),
        *(f"output.{name}" for name in sorted(found.outputs)),
    ]:
        sys.stdout.write(address + "\n")


def versions(state: State, directory: Directory = None, output: Output = Format.TEXT) -> None:
    """List the stored versions of a state, newest first."""
    found = with_backend(directory, lambda backend: backend.versions(state))
    if output is Format.JSON:
        print_json([asdict(each) for each in found])
        return
    rows = [
        (each.id, str(each.serial), str(each.size), each.at, each.who, each.note) for each in found
    ]
    _table(("version", "serial", "size", "at", "who", "note"), rows)


def diff(
    state: State,
    old: Annotated[str, typer.Argument(help="Version from `talops state versions`.")],
    new: Annotated[
        str | None, typer.Argument(help="Version to compare with; default: the newest state.")
    ] = None,
    directory: Directory = None,
    output: Output = Format.TEXT,
) -> None:
    """List the addresses that differ between two versions; never shows values."""
    from talops.statestore.backends.contents import compare, contents_of

    async def both(backend: StateBackend) -> tuple[bytes, bytes]:
        return await _read(backend, state, old), await _read(backend, state, new)

    before, after = with_backend(directory, both)
    found = compare(contents_of(before), contents_of(after))
    if output is Format.JSON:
        print_json(asdict(found))
        return
    for sign, addresses in (("+", found.added), ("-", found.removed), ("~", found.changed)):
        for address in addresses:
            sys.stdout.write(f"{sign} {address}\n")
    if found.empty:
        note("no differences")


def locks(directory: Directory = None, output: Output = Format.TEXT) -> None:
    """List the held locks with their holders."""
    found = with_backend(directory, lambda backend: backend.overview())
    held = [each for each in found if each.lock]
    if output is Format.JSON:
        print_json([{"state": each.name, "lock": each.lock} for each in held])
        return
    rows = [
        tuple(str((each.lock or {}).get(key, "")) for key in ("ID", "Who", "Operation", "Created"))
        for each in held
    ]
    _table(
        ("state", "id", "who", "operation", "since"),
        [(each.name, *row) for each, row in zip(held, rows, strict=True)],
    )


async def _read(backend: StateBackend, state: str, version: str | None) -> bytes:
    data = await backend.read(state, version)
    if data is None:
        named = f"version {version} of {state}" if version else f"state {state}"
        raise TalopsError(f"{named} does not exist", where=backend.place, hint="talops state list")
    return data


def _outputs(outputs: dict[str, str]) -> dict[str, Any]:
    return {"outputs": sorted(outputs)}


def _info(info: StateInfo) -> dict[str, Any]:
    return asdict(info) | {"exists": info.exists}


def _size(info: StateInfo) -> str:
    return str(info.size) if info.size else "-"


def condition(info: StateInfo) -> str:
    if info.problem:
        return info.problem
    if info.lock:
        return f"locked by {info.lock.get('Who', 'an unknown user')}"
    if info.exists:
        return "ok"
    return "no run in progress" if info.name.endswith(SUFFIX) else "does not exist yet"


def _table(titles: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> None:
    from rich.table import Table

    table = Table(*titles, box=None, pad_edge=False)
    for row in rows:
        table.add_row(*row)
    console().print(table)

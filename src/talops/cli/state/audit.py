"""`talops state audit`: what the state server did, and the proof that nothing is missing."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from talops.cli.options import Directory, Format, Output
from talops.cli.output import note, print_json
from talops.cli.state.opening import with_backend
from talops.errors import ConflictError, TalopsError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from talops.statestore.backends.audit import Proof
    from talops.statestore.backends.http import HttpBackend
    from talops.statestore.backends.interface import StateBackend
    from talops.statestore.encryption.keys import Keyring
    from talops.statestore.model import AuditEntry

Limit = Annotated[int, typer.Option(min=1, help="Number of entries to show.")]
OfState = Annotated[str | None, typer.Option(help="Show only entries of this state.")]
OfUser = Annotated[str | None, typer.Option(help="Show only entries of this user.")]
KeyFile = Annotated[
    Path | None, typer.Option(help="Key file of the server: also verify signatures here.")
]


def register(group: typer.Typer) -> None:
    audit = typer.Typer(help="Show and verify the audit of a state server.")
    audit.command("show")(show)
    audit.command("verify")(verify)
    group.add_typer(audit, name="audit")


def show(
    limit: Limit = 100,
    state: OfState = None,
    user: OfUser = None,
    directory: Directory = None,
    output: Output = Format.TEXT,
) -> None:
    """List logins, reads, writes, locks and refusals, newest first."""
    from talops.statestore.backends.audit import entries

    found = [
        entry
        for entry in with_backend(directory, lambda backend: entries(_server(backend)))
        if state in {None, entry.state, entry.state.partition("/")[2]} and user in {None, entry.who}
    ][:limit]
    if output is Format.JSON:
        print_json([asdict(entry) for entry in found])
        return
    _print(found)


def verify(
    key_file: KeyFile = None, directory: Directory = None, output: Output = Format.TEXT
) -> None:
    """Prove that no entry was removed, changed or reordered since it was written."""
    from talops.statestore.backends.audit import Witness, prove

    root = (directory or Path.cwd()).absolute()
    witness = Witness(root / ".talops" / "state" / "audit-seen.json")
    ring = _keyring(key_file)
    proof = with_backend(directory, lambda backend: prove(_server(backend), witness, ring))
    if output is Format.JSON:
        print_json(asdict(proof))
    else:
        _explain(proof)
    if proof.problems:
        raise ConflictError(
            f"the audit is not intact: {len(proof.problems)} problem"
            + ("s" if len(proof.problems) > 1 else ""),
            hint="keep the store as it is, and compare it with a backup",
        )


def _explain(proof: Proof) -> None:
    for problem in proof.problems:
        note(problem)
    if not proof.problems:
        note(f"{proof.entries} entries in {proof.number} blocks: complete and unchanged")
        note(f"the chain ends with {proof.hash}")
    signed = {
        True: "every block is signed with the key of the server",
        False: "the server has no key, so its store could be rewritten as a whole; this directory "
        "remembers the end of the chain",
    }
    note(signed[proof.signed])


def _server(backend: StateBackend) -> HttpBackend:
    from talops.statestore.backends.http import HttpBackend

    if not isinstance(backend, HttpBackend):
        raise TalopsError(
            "only a state server has an audit",
            where=backend.place,
            hint="set state: {type: http, url: …} in cluster.yaml",
        )
    return backend


def _keyring(path: Path | None) -> Keyring | None:
    from talops.statestore.access.private import require_private
    from talops.statestore.encryption.keys import Keyring, parse_keys

    if path is None:
        return None
    try:
        require_private(path, "the key file")
        return Keyring(parse_keys(path.read_text(encoding="utf-8")))
    except OSError as error:
        raise TalopsError(f"cannot read the key file: {error.strerror}", where=str(path)) from error


def _print(found: Sequence[AuditEntry]) -> None:
    from datetime import UTC, datetime

    from talops.statestore.audit.journal import plain

    for entry in found:
        at = datetime.fromtimestamp(entry.at, UTC).isoformat(timespec="milliseconds")
        words = (entry.action, entry.who, entry.origin, entry.state, entry.detail)
        typer.echo("  ".join([at, *(plain(word) for word in words if word)]))

"""`talops talos gen-secrets`: generate or import the secrets of a cluster."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from talops.cli.options import Directory
from talops.cli.output import note
from talops.errors import ConflictError, PreflightError, TalopsError

if TYPE_CHECKING:
    from talops.app.opening import Keys
    from talops.machineconfig.contract import Contract
    from talops.machineconfig.secrets.bundle import Bundle

STDIN = STDOUT = Path("-")


def add_to(app: typer.Typer) -> None:
    app.command("gen-secrets")(gen_secrets)


def gen_secrets(
    directory: Directory = None,
    from_secrets: Annotated[
        Path | None,
        typer.Option("--from-secrets", help="Import this secrets.yaml of talosctl (- for stdin)."),
    ] = None,
    from_config: Annotated[
        Path | None,
        typer.Option(
            "--from-config", help="Import the secrets of this control plane config (- for stdin)."
        ),
    ] = None,
    plain: Annotated[
        bool,
        typer.Option("--plain", help="Store them unencrypted in talos/talsecret.yaml (mode 0600)."),
    ] = False,
    to: Annotated[
        Path | None,
        typer.Option("--to", help="Write them unencrypted to this file (- for stdout)."),
    ] = None,
) -> None:
    """Generate the cluster secrets; never overwrites existing ones."""
    from talops.site.secrets_file import new_secrets

    assert directory is not None
    if to is not None:
        _refuse_a_second(directory, brought_along=bool(from_secrets or from_config))
        _print_or_write(_bundle(from_secrets, from_config).to_yaml(), to)
        return
    target = new_secrets(directory, sealed=not plain)
    if target.sealed:
        _require_rules(directory)
    brought = _bundle(from_secrets, from_config) if from_secrets or from_config else None
    bundle = brought or _generated(_implied_contract(directory))
    bundle = replace(bundle, contract=_contract(directory, brought, from_config))
    if target.sealed:
        _seal(directory, bundle, target.path)
    else:
        _write_private(target.path, bundle.to_yaml())
    typer.echo(str(target.path))


def _refuse_a_second(directory: Path, *, brought_along: bool) -> None:
    """New secrets look like those of the cluster, but do not grant access to it."""
    from talops.site.secrets_file import find_secrets

    found = find_secrets(directory)
    if found is not None and not brought_along:
        raise ConflictError(
            "the cluster already has secrets; new ones would not grant access to it",
            where=str(found.path),
            hint=f"to print the existing secrets: sops decrypt {found.path}"
            if found.sealed
            else f"to print the existing secrets: cat {found.path}",
        )


def _contract(directory: Path, brought: Bundle | None, from_config: Path | None) -> Contract:
    """The format of a config shows its contract; the secrets alone do not."""
    from talops.cli.opening import inventory_of
    from talops.machineconfig.contract import NEWEST_UNPINNED

    implied = _implied_contract(directory)
    if brought is None or inventory_of(directory).at.gives("talos_contract"):
        return implied
    if brought.contract is None and implied.splits_documents:
        if from_config:
            return NEWEST_UNPINNED
        raise PreflightError(
            "these secrets do not say which contract their cluster was created with",
            where=str(directory / "cluster.yaml"),
            hint=f"add talos_contract: v{NEWEST_UNPINNED} if an older Talos created the cluster,"
            f" else talos_contract: v{implied}",
        )
    return brought.contract or implied


def _implied_contract(directory: Path) -> Contract:
    from talops.cli.opening import inventory_of
    from talops.machineconfig.contract import Contract

    return Contract(inventory_of(directory).talos_contract.removeprefix("v"))


def _generated(contract: Contract | None = None) -> Bundle:
    from datetime import UTC, datetime

    from talops.machineconfig.secrets import bundle

    return bundle.generate(datetime.now(UTC), contract)


def _require_rules(directory: Path) -> None:
    if not (directory / ".sops.yaml").exists():
        raise PreflightError(
            "no recipients are configured to encrypt the secrets for",
            where=str(directory / ".sops.yaml"),
            hint="talops secrets init, then run the same command again; or use --plain",
        )


def _seal(directory: Path, wanted: Bundle, path: Path) -> None:
    from talops.cli.opening import with_keys

    target = directory.resolve() / path.relative_to(directory)

    async def work(keys: Keys) -> None:
        _write_private(target, await keys.sops.encrypt(wanted.to_yaml(), target))
        if keys.sops.keys is None:
            note("no age key is available: did not check that this file can be decrypted")
            return
        try:
            _prove(wanted, await keys.sops.decrypt(target), target)
        except TalopsError:
            target.unlink()
            raise

    with_keys(directory, work)


def _prove(wanted: Bundle, text: str, path: Path) -> None:
    from talops.machineconfig.secrets import bundle

    if bundle.from_yaml(text, where=str(path)) != wanted:
        raise TalopsError(
            "the encrypted file differs from what was written when read again", where=str(path)
        )


def _print_or_write(text: str, target: Path) -> None:
    if target == STDOUT:
        typer.echo(text, nl=False)
        return
    if target.exists():
        raise ConflictError("already exists; secrets are never overwritten", where=str(target))
    _write_private(target, text)
    typer.echo(str(target))


def _write_private(path: Path, text: str) -> None:
    from talops.files import PRIVATE, write_atomic

    write_atomic(path, text, mode=PRIVATE, guarded=True)


def _bundle(from_secrets: Path | None, from_config: Path | None) -> Bundle:
    from talops.machineconfig import yamltext
    from talops.machineconfig.secrets import bundle

    if from_secrets and from_config:
        raise TalopsError("use --from-secrets or --from-config, but not both")
    if from_secrets:
        return bundle.from_yaml(read_text(from_secrets), where=str(from_secrets))
    if from_config:
        where = str(from_config)
        documents = yamltext.load_all(read_text(from_config), where=where)
        return bundle.from_machine_config(documents, where=where)
    return _generated()


def read_text(path: Path) -> str:
    if path == STDIN:
        return sys.stdin.read()
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not a text file"
        raise TalopsError(f"cannot read: {reason}", where=str(path)) from error


def load_bundle(directory: Path, given: Path | None) -> Bundle:
    """The named secrets, or those of the inventory, decrypted if necessary."""
    from talops.machineconfig.secrets import bundle
    from talops.site.secrets_file import require_secrets

    if given is not None:
        return bundle.from_yaml(read_text(given), where=str(given))
    stored = require_secrets(directory)
    text = _unseal(directory, stored.path) if stored.sealed else read_text(stored.path)
    return bundle.from_yaml(text, where=str(stored.path))


def _unseal(directory: Path, path: Path) -> str:
    from talops.cli.opening import with_keys

    return with_keys(directory, lambda keys: keys.sops.decrypt(path.resolve()))

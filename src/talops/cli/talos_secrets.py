"""`talops talos gen-secrets`: the secrets of a cluster, made once or brought along."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from talops.cli.options import Directory
from talops.cli.output import note
from talops.errors import TalopsError

if TYPE_CHECKING:
    from talops.machineconfig.bundle import Bundle

STDIN = STDOUT = Path("-")


def add_to(app: typer.Typer) -> None:
    app.command("gen-secrets")(gen_secrets)


def gen_secrets(
    directory: Directory = None,
    from_secrets: Annotated[
        Path | None,
        typer.Option("--from-secrets", help="Take over this secrets.yaml of talosctl; - is stdin."),
    ] = None,
    from_config: Annotated[
        Path | None,
        typer.Option(
            "--from-config",
            help="Take over the secrets in this control plane's config; - is stdin.",
        ),
    ] = None,
    to: Annotated[
        Path | None,
        typer.Option("--to", help="Write them there instead, unencrypted; - is stdout."),
    ] = None,
) -> None:
    """Make the cluster's secrets, in talosctl's format; existing ones are never overwritten."""
    from talops.cli.sealing import sealing
    from talops.files import PRIVATE, write_atomic
    from talops.machineconfig.places import new_secrets

    assert directory is not None
    if to is not None:
        _print_or_write(_bundle(from_secrets, from_config), to)
        return
    seal = sealing(directory)
    target = new_secrets(directory, sealed=seal is not None)
    text = _bundle(from_secrets, from_config).to_yaml()
    content = seal.seal(text, target.path) if seal else text
    write_atomic(target.path, content, mode=PRIVATE)
    if not seal:
        note("not encrypted: keep this file to yourself and out of git")
    typer.echo(str(target.path))


def _print_or_write(bundle: Bundle, target: Path) -> None:
    from talops.errors import ConflictError
    from talops.files import PRIVATE, write_atomic

    if target == STDOUT:
        typer.echo(bundle.to_yaml(), nl=False)
        return
    if target.exists():
        raise ConflictError("is there already; secrets are never overwritten", where=str(target))
    write_atomic(target, bundle.to_yaml(), mode=PRIVATE)
    typer.echo(str(target))


def _bundle(from_secrets: Path | None, from_config: Path | None) -> Bundle:
    from datetime import UTC, datetime

    from talops.machineconfig import bundle, yamltext

    if from_secrets and from_config:
        raise TalopsError("give --from-secrets or --from-config, not both")
    if from_secrets:
        return bundle.from_yaml(read_text(from_secrets), where=str(from_secrets))
    if from_config:
        where = str(from_config)
        documents = yamltext.load_all(read_text(from_config), where=where)
        return bundle.from_machine_config(documents, where=where)
    return bundle.generate(datetime.now(UTC))


def read_text(path: Path) -> str:
    if path == STDIN:
        return sys.stdin.read()
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is no text"
        raise TalopsError(f"cannot read: {reason}", where=str(path)) from error


def load_bundle(directory: Path, given: Path | None) -> Bundle:
    """The secrets that were named, or those of the inventory, decrypted if need be."""
    from talops.cli.sealing import sealing
    from talops.machineconfig import bundle
    from talops.machineconfig.places import require_secrets

    if given is not None:
        return bundle.from_yaml(read_text(given), where=str(given))
    stored = require_secrets(directory)
    if not stored.sealed:
        return bundle.from_yaml(read_text(stored.path), where=str(stored.path))
    unseal = sealing(directory)
    if unseal is None:
        raise TalopsError(
            "the secrets are encrypted, and there is no key to decrypt them with",
            where=str(stored.path),
            hint=f"sops decrypt {stored.path} | talops talos gen-config --secrets -",
        )
    return bundle.from_yaml(unseal.unseal(stored.path), where=str(stored.path))

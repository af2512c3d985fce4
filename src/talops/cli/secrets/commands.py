"""`talops secrets`: manage credentials in encrypted files."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NoReturn

import typer

from talops.cli.options import Directory, Format, Output, Yes
from talops.cli.output import note, print_json
from talops.cli.streams import own

if TYPE_CHECKING:
    from talops.app.opening import Keys
    from talops.problems import FileProblem
    from talops.redaction import Secret

app = typer.Typer(no_args_is_help=True, help="Keep credentials encrypted with sops and age.")
Name = Annotated[str, typer.Argument(help="Name of the value, like tfstate_password.")]


def register(root: typer.Typer) -> None:
    root.add_typer(app, name="secrets")


@app.command()
def init(
    directory: Directory = None,
    recipient: Annotated[
        list[str] | None, typer.Option(help="Additional age recipient (repeatable).")
    ] = None,
    hook: Annotated[bool, typer.Option(help="Install a pre-commit hook if none exists.")] = True,
) -> None:
    """Create age.key, .sops.yaml, the encrypted file and a pre-commit hook if missing."""
    from talops.cli.opening import with_keys
    from talops.secrets.init import init as make

    async def work(keys: Keys) -> None:
        made = await make(keys.sops, keys.file, recipient or (), hook=hook)
        for name in made.files:
            note(f"created {name}")
        if str(keys.file) in made.files:
            note("store a backup of the key in a safe place: without it nothing can be decrypted")
        typer.echo(made.recipient)

    with_keys(directory, work)


@app.command()
def edit(
    file: Annotated[Path | None, typer.Argument(help="Default: the credentials file.")] = None,
    directory: Directory = None,
) -> None:
    """Edit an encrypted file; the plain text stays in memory."""
    from talops.cli.opening import with_keys
    from talops.secrets.edit import edit as change
    from talops.secrets.vault import FILE

    async def work(keys: Keys) -> bool:
        target = keys.sops.root / (file or FILE)
        return await change(keys.sops, target, os.environ, _open_again)

    note("changed" if with_keys(directory, work) else "not changed")


async def _open_again(wrong: str) -> bool:
    from talops.cli.terminal import NO, typed

    if not sys.stdin.isatty():
        return False
    note(wrong)
    return (await typed("Open the editor again? [Y/n]: ")).lower() not in NO - {""}


@app.command("set")
def set_(
    name: Name,
    directory: Directory = None,
    generate: Annotated[bool, typer.Option("--generate", help="Generate a random value.")] = False,
) -> None:
    """Set one value, from a hidden prompt or from stdin; never from the command line."""
    from talops.cli.opening import with_keys
    from talops.secrets.vault import Vault

    value = _random() if generate else _ask(name)

    async def work(keys: Keys) -> list[str]:
        return await Vault.of(keys.sops).write({name: value})

    note(f"{name}: " + ("set" if with_keys(directory, work) else "unchanged"))


@app.command()
def get(
    name: Annotated[
        str | None, typer.Argument(help="Name of the value; default: list all names.")
    ] = None,
    directory: Directory = None,
    output: Output = Format.TEXT,
) -> None:
    """Print one value, or the names of all values."""
    from talops.cli.opening import with_keys
    from talops.errors import TalopsError
    from talops.secrets.vault import Vault

    async def work(keys: Keys) -> dict[str, Secret]:
        return await Vault.of(keys.sops).read()

    values = with_keys(directory, work)
    if name is None:
        print_json(sorted(values)) if output == Format.JSON else typer.echo(
            "\n".join(sorted(values))
        )
    elif name not in values:
        raise TalopsError(f"value {name!r} does not exist", hint=f"talops secrets set {name}")
    elif output == Format.JSON:
        print_json({name: values[name].reveal()})
    else:
        own(sys.stdout).write(values[name].reveal() + "\n")


@app.command("import")
def import_(
    file: Annotated[Path, typer.Argument(help="File that contains the credentials.")] = Path(
        "cluster.yaml"
    ),
    directory: Directory = None,
) -> None:
    """Move credentials from cluster.yaml to the encrypted file."""
    from talops.cli.opening import with_keys
    from talops.secrets.importing import import_credentials
    from talops.secrets.vault import FILE, Vault

    async def work(keys: Keys) -> list[str]:
        return await import_credentials(Vault.of(keys.sops), keys.sops.root / file)

    moved = with_keys(directory, work)
    for name in moved:
        note(f"{name}: moved to {FILE}")
    if moved:
        note("if the file was ever committed, replace the values: Git history still contains them")
    else:
        note(f"{file} contains no credentials")


@app.command()
def rotate(
    directory: Directory = None,
    recipients_only: Annotated[
        bool,
        typer.Option(
            "--recipients-only", help="Keep the key; encrypt for the recipients in .sops.yaml."
        ),
    ] = False,
    cluster: Annotated[
        bool, typer.Option("--cluster", help="Replace the key of the cluster, not your own.")
    ] = False,
    yes: Yes = False,
) -> None:
    """Encrypt every file with a new key; removes the old key after verification."""
    from talops.cli.opening import with_keys
    from talops.errors import TalopsError

    if cluster and recipients_only:
        raise TalopsError("--cluster cannot be combined with --recipients-only")
    if cluster:
        _separate(directory, yes=yes, dry_run=False, rotate=True)
    with_keys(directory, _follow if recipients_only else _rotate)


@app.command()
def split(
    directory: Directory = None,
    yes: Yes = False,
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run", help="Show the plan and change nothing; exit 2 if it has changes."
        ),
    ] = False,
    output: Output = Format.TEXT,
) -> None:
    """Give the cluster a key of its own that opens only what Flux applies."""
    _separate(directory, yes=yes, dry_run=dry_run, rotate=False, output=output)


def _separate(
    directory: Path | None,
    *,
    yes: bool,
    dry_run: bool,
    rotate: bool,
    output: Format = Format.TEXT,
) -> NoReturn:
    from talops.app import runs
    from talops.cli.opening import site_of
    from talops.cli.running import run_and_exit

    assert directory is not None
    site = site_of(directory)
    run_and_exit(site, runs.split(site, runs.Manner(dry_run, yes), rotate=rotate), output)


@app.command()
def check(
    directory: Directory = None,
    output: Output = Format.TEXT,
    staged: Annotated[
        bool, typer.Option("--staged", help="Check only the staged changes.")
    ] = False,
) -> None:
    """Find plain secrets, files that cannot be decrypted, and stale recipients."""
    from talops.app.opening import flux_folder_of
    from talops.cli.opening import with_keys
    from talops.secrets.check import check_repository, check_staged

    async def work(keys: Keys) -> list[FileProblem]:
        if staged:
            return await check_staged(keys.sops)
        return await check_repository(keys.sops, flux_folder_of(keys.sops.root))

    problems = with_keys(directory, work)
    if output == Format.JSON:
        print_json([_as_dict(problem) for problem in problems])
    for problem in problems if output == Format.TEXT else ():
        typer.echo(f"{problem.where}: {problem.what}\n  next: {problem.hint}")
    if problems:
        raise typer.Exit(1)


def _as_dict(problem: FileProblem) -> dict[str, object]:
    return {
        "kind": problem.rule,
        "file": problem.where.file,
        "what": problem.what,
        "hint": problem.hint,
        "line": problem.where.line or None,
    }


async def _rotate(keys: Keys) -> None:
    from talops.errors import TalopsError
    from talops.secrets.rotation import rotate as replace_key

    if keys.in_environment:
        raise TalopsError(
            "the key comes from SOPS_AGE_KEY, so there is no key file to rotate",
            hint="unset it and write the key to age.key",
        )
    done = await replace_key(keys.sops, keys.file, _show)
    if not done.separate:
        note("the cluster still uses the old key; before you push: talops up --only gitops")
    typer.echo(done.new)


async def _follow(keys: Keys) -> None:
    from talops.secrets.rotation import follow_rules

    if not await follow_rules(keys.sops, _show):
        note("every file is already encrypted for the recipients in .sops.yaml")


def _show(event: object) -> None:
    note(getattr(event, "message", ""))


def _ask(name: str) -> Secret:
    from talops.errors import TalopsError
    from talops.redaction import Secret

    if sys.stdin.isatty():
        text = typer.prompt(name, hide_input=True, confirmation_prompt=True, err=True)
    else:
        text = sys.stdin.read().removesuffix("\n")
    if not text:
        raise TalopsError("the value is empty", hint=f"talops secrets set {name} --generate")
    return Secret(text)


def _random() -> Secret:
    import secrets

    from talops.redaction import Secret

    return Secret(secrets.token_urlsafe(32))

"""`talops state user`: manage the users of a state server."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from talops.cli.output import note

UserName = Annotated[str, typer.Argument(help="Name of the user.")]
UsersFile = Annotated[Path, typer.Option("--users", help="Users file of the server.")]
PasswordFile = Annotated[
    Path | None,
    typer.Option(help="Read the password from this file (- = stdin); default: generate one."),
]
Patterns = Annotated[list[str] | None, typer.Option(help="States, like homelab/* (repeatable).")]
ForcePatterns = Annotated[
    list[str] | None,
    typer.Option(help="States whose locks of others the user may remove (repeatable)."),
]


def register(group: typer.Typer) -> None:
    users = typer.Typer(help="Manage the users of a state server.")
    users.command("add")(add)
    users.command("rotate")(rotate)
    users.command("grant")(grant)
    users.command("remove")(remove)
    group.add_typer(users, name="user")


def add(
    name: UserName,
    users: UsersFile,
    read: Patterns = None,
    write: Patterns = None,
    force: ForcePatterns = None,
    password_file: PasswordFile = None,
) -> None:
    """Add a user; prints the password once and stores only a hash."""
    from talops.statestore import users as book

    password, made = _password(password_file)
    readable, writable = tuple(read or ()), tuple(write or ())
    if not readable and not writable:
        writable = ("*",)
    forcible = tuple(force or ())
    book.add(users, name, password, read=readable, write=writable, force=forcible)
    _show(password, made)
    rights = {"write": writable, "read": readable, "force": forcible}
    note(f"{name} added: " + ", ".join(f"{what} {list(of)}" for what, of in rights.items()))


def rotate(name: UserName, users: UsersFile, password_file: PasswordFile = None) -> None:
    """Set a new password for a user; the server applies it within a second."""
    from talops.statestore import users as book

    password, made = _password(password_file)
    book.rotate(users, name, password)
    _show(password, made)


def grant(name: UserName, users: UsersFile, force: ForcePatterns = None) -> None:
    """Set the states whose locks of other users a user may remove; none: revoke it."""
    from talops.statestore import users as book

    patterns = tuple(force or ())
    book.grant(users, name, patterns)
    note(f"{name} may remove locks of other users: {list(patterns) or 'none'}")


def remove(name: UserName, users: UsersFile) -> None:
    """Remove a user; the server applies it within a second."""
    from talops.statestore import users as book

    book.remove(users, name)
    note(f"{name} removed")


def _password(file: Path | None) -> tuple[str, bool]:
    from talops.errors import TalopsError
    from talops.statestore.passwords import make_password

    if file is None:
        return make_password(), True
    text = sys.stdin.read() if str(file) == "-" else file.read_text(encoding="utf-8")
    if not text.strip():
        raise TalopsError("the password is empty", where=str(file))
    return text.rstrip("\n"), False


def _show(password: str, made: bool) -> None:
    if made:
        sys.stdout.write(password + "\n")
        note("this password is not shown again; clients read it from TF_HTTP_PASSWORD")

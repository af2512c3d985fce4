"""A credential of another system is replaced only when the new one works."""

from __future__ import annotations

from typing import Any

import pytest

from talops.app.access.successors import NEXT, succeed
from talops.cli.app import run
from talops.errors import DeniedError, TalopsError, UnreachableError
from talops.redaction import Secret

NAME = "tfstate_password"


class MemoryVault:
    file = "secrets.sops.yaml"

    def __init__(self, **values: str) -> None:
        self.values = {name: Secret(value) for name, value in values.items()}

    async def read(self) -> dict[str, Secret]:
        return dict(self.values)

    async def write(self, values: dict[str, Secret], *, remove: Any = ()) -> list[str]:
        self.values = {k: v for k, v in {**self.values, **values}.items() if k not in remove}
        return [*values]

    def plain(self) -> dict[str, str]:
        return {name: value.reveal() for name, value in self.values.items()}


class Server:
    """Another system, and the one value that it accepts."""

    def __init__(self, accepts: str) -> None:
        self.accepts = accepts
        self.silent = False

    async def prove(self, value: Secret) -> None:
        if self.silent:
            raise UnreachableError("no answer")
        if value.reveal() != self.accepts:
            raise DeniedError("wrong password")


async def test_old_until_the_new_one_works() -> None:
    """Created once, tried every time, in use at the end."""
    vault: Any = MemoryVault(tfstate_password="old")
    server, made = Server("old"), iter(["new", "newer"])

    async def again() -> Any:
        return await succeed(vault, NAME, lambda: Secret(next(made)), server.prove)

    first = await again()
    assert (first.created, first.switched, str(first.refusal)) == (True, False, "wrong password")
    assert vault.plain() == {NAME: "old", NAME + NEXT: "new"}
    assert not (await again()).created
    server.silent = True
    with pytest.raises(UnreachableError):
        await again()
    assert vault.plain() == {NAME: "old", NAME + NEXT: "new"}
    server.silent, server.accepts = False, "new"
    assert (await again()).switched
    assert vault.plain() == {NAME: "new"}


async def test_nothing_to_replace() -> None:
    """A name that the file does not have is an error, not a new credential."""
    vault: Any = MemoryVault()
    with pytest.raises(TalopsError, match="is not in the secrets"):
        await succeed(vault, NAME, lambda: Secret("x"), Server("x").prove)
    assert vault.plain() == {}


def test_an_outage_must_be_accepted(tmp_path: Any, capsys: pytest.CaptureFixture[str]) -> None:
    """The refusal says what would stop working, and what to do instead."""
    assert run(["rotate", "state-password", "-C", str(tmp_path)]) == 1
    said = capsys.readouterr().err
    assert "every other checkout is denied" in said
    assert "create another user" in said

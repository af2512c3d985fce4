"""`talops state`: inspect, restore, migrate and serve OpenTofu states."""

from __future__ import annotations

import typer

from talops.cli.state import audit as state_audit
from talops.cli.state import change as state_change
from talops.cli.state import look as state_look
from talops.cli.state import serve as state_serve
from talops.cli.state import users as state_users


def register(root: typer.Typer) -> None:
    group = typer.Typer(help="Inspect, restore, migrate and serve OpenTofu states.")
    state_look.register(group)
    state_change.register(group)
    state_serve.register(group)
    state_users.register(group)
    state_audit.register(group)
    root.add_typer(group, name="state")

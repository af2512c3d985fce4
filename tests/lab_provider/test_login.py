"""Who the provider is to Proxmox."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from tests.lab_provider.configurations import VM
from tests.lab_provider.fake import PASSWORD, TICKET

if TYPE_CHECKING:
    from tests.lab_provider.conftest import Workspace
    from tests.lab_provider.fake import Fake

pytestmark = pytest.mark.slow


def as_user(workspace: Workspace, password: str) -> Workspace:
    login = (("PROXMOX_VE_USERNAME", "root@pam"), ("PROXMOX_VE_PASSWORD", password))
    return replace(workspace, login=login)


def test_a_password_becomes_a_ticket(workspace: Workspace, fake: Fake) -> None:
    """Once logged in, the ticket is enough; changes carry the token against forged requests."""
    user = as_user(workspace, PASSWORD)
    user.apply(VM)
    assert user.plan() == {}
    assert fake.running == {101}


def test_a_wrong_password_is_told(workspace: Workspace, fake: Fake) -> None:
    """And never shown."""
    user = as_user(workspace, "wrong battery")
    user.write(VM)
    result = user.run("apply", "-auto-approve", "-no-color")
    assert result.code == 1
    assert "authentication failure" in result.out
    assert "wrong battery" not in result.out
    assert fake.vms == {}


def test_a_ticket_of_somebody_else_will_do(workspace: Workspace, fake: Fake) -> None:
    """Ticket and CSRF token, both given."""
    login = (("PROXMOX_VE_AUTH_TICKET", TICKET), ("PROXMOX_VE_CSRF_PREVENTION_TOKEN", "C"))
    replace(workspace, login=login).apply(VM)
    assert "POST /access/ticket" not in fake.calls


def test_no_login_at_all_is_an_error(workspace: Workspace) -> None:
    """Before anything is asked of Proxmox."""
    nobody = replace(workspace, login=())
    nobody.write(VM)
    assert nobody.run("plan", "-no-color").code == 1


def test_an_unknown_certificate_is_refused(workspace: Workspace, fake: Fake) -> None:
    """Unless it is said to be insecure on purpose."""
    empty = workspace.directory / "none.pem"
    empty.write_text("")
    stranger = replace(workspace, ca=empty)
    stranger.write(VM)
    result = stranger.run("apply", "-auto-approve", "-no-color")
    assert result.code == 1
    assert "certificate" in result.out
    assert fake.calls == []
    open_minded = replace(stranger, login=(*stranger.login, ("PROXMOX_VE_INSECURE", "true")))
    open_minded.apply(VM)
    assert fake.running == {101}

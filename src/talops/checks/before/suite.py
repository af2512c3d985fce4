"""The checks of `talops preflight` and of the stage `preflight`: one list each, made here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from talops.checks.before import (
    addresses,
    age_key,
    clock,
    git,
    host,
    images,
    inventory,
    ports,
    provider,
    state,
    tools,
    truenas,
)
from talops.pipeline.checks import Check
from talops.site.run_lock import lock_name
from talops.site.state.backends import backend_of
from talops.site.state.passphrase import states_are_encrypted
from talops.toolchain.install import Toolchain

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from talops.pipeline.checks import Finding
    from talops.site.site import ClosedSite, Site


def preflight_checks(site: ClosedSite, *, thorough: bool = False) -> list[Check]:
    """The checks of every run.

    `thorough` is for `talops preflight`: it also decrypts every encrypted file and reads the Git
    repository, which in a run is checked by the stage `gitops`.
    """
    repository = [Check("git", lambda: git.look(site))] if thorough else []
    storage = [Check("truenas", lambda: truenas.look(site))] if site.cluster.truenas else []
    provider_check = (
        [Check("provider", lambda: provider.look(site.environment))] if site.cluster.proxmox else []
    )
    return [
        Check("secrets", lambda: age_key.look(site, thorough=thorough)),
        Check("images", lambda: images.look(site)),
        *provider_check,
        Check("addresses", lambda: addresses.look(site)),
        Check("clock", lambda: clock.look(site)),
        Check("ports", lambda: ports.look(site)),
        *repository,
        *storage,
    ]


def outside_checks(site: Site, *, strict: bool) -> list[Check]:
    """What needs keys: states and hosts.

    `strict`: a held state lock is an error; not so for a run that continues its own.
    """
    # The run lock is not a state: the process that runs this check holds it.
    mine = frozenset({lock_name(site.cluster.name)})
    states = Check(
        "state", lambda: state.look(lambda: backend_of(site), strict=strict, leave_out=mine)
    )
    if site.cluster.proxmox is None:
        return [states]
    return [states, Check("host", lambda: host.look(site))]


def tool_checks(site: ClosedSite) -> list[Check]:
    def look() -> Awaitable[list[Finding]]:
        encrypted = states_are_encrypted(site.cluster, site.root)
        return tools.look(Toolchain(site.environment), encrypted=encrypted)

    return [Check("inventory", lambda: inventory.look(site)), Check("tools", look)]

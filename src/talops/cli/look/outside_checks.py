"""Checks that only the command line can set up, because they open connections of their own.

`outside_checks` is the list that `talops preflight` and `talops up` share: a client that brings
checks of its own (states, Proxmox hosts) adds them here.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from talops.checks.before.basis import Ground
    from talops.pipeline.checks import Check, Finding
    from talops.site.site import Site
    from talops.statestore.backends.interface import StateBackend


def ground_of(site: Site, learn: Callable[..., None]) -> Ground:
    from talops.checks.before.basis import Ground
    from talops.site.secrets_file import SecretsFile

    secrets = SecretsFile(site, learn)
    return Ground(site.cluster, site.root, site, secrets, site.environment)


def outside_checks(site: Site, *, strict: bool) -> list[Check]:
    """`strict`: a held state lock is an error; not so for a run that continues its own."""
    return [*_state_checks(site, strict=strict), *_host_checks(site)]


def tool_checks(ground: Ground) -> list[Check]:
    from talops.checks.before import inventory, tools
    from talops.pipeline.checks import Check
    from talops.site.state_passphrase import passphrase_at_hand
    from talops.toolchain.install import Toolchain

    def look() -> Awaitable[list[Finding]]:
        encrypted = passphrase_at_hand(ground.cluster, ground.root)
        return tools.look(Toolchain(os.environ), encrypted=encrypted)

    return [Check("inventory", lambda: inventory.look(ground)), Check("tools", look)]


def _state_checks(site: Site, *, strict: bool) -> list[Check]:
    from talops.checks.before import state
    from talops.cli.state.context import backend_of
    from talops.pipeline.checks import Check
    from talops.site.run_lock import lock_name

    def backend() -> StateBackend:
        return backend_of(site.cluster, site.root, site.credentials)

    # The run lock is not a state: the process that runs this check holds it.
    mine = frozenset({lock_name(site.cluster.name)})
    return [Check("state", lambda: state.look(backend, strict=strict, leave_out=mine))]


def _host_checks(site: Site) -> list[Check]:
    from talops.checks.before import host
    from talops.pipeline.checks import Check

    if site.cluster.proxmox is None:
        return []
    return [Check("host", lambda: host.look(site))]

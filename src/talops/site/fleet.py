"""The nodes over the Talos API: how to connect to each, and what it reports about itself."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from talops.errors import TalopsError, UnreachableError
from talops.machineconfig.secrets import pki
from talops.redaction import Secret
from talops.talos.client import Talos
from talops.talos.credentials import Credentials, Maintenance
from talops.talos.errors import (
    ClockError,
    ForeignCertificateError,
    MaintenanceModeError,
    NotAuthorizedError,
    PreconditionError,
    WrongCaError,
)
from talops.talos.kinds import (
    CONFIG_ID,
    MACHINE_CONFIG,
    MACHINE_ID,
    MACHINE_STATUS,
    STORED_CONFIG_ID,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from talops.inventory.model import Node
    from talops.machineconfig.secrets.bundle import Bundle
    from talops.talos.kinds import MachineStatus
    from talops.talos.transport import Link

AT_ONCE = 50
ETCD_DATA = "/var/lib/etcd/member"
# How many seconds a connection is shared. Later calls open their own: this one may be hanging.
MOMENT = 2.0


@dataclass(frozen=True)
class InMaintenance:
    """In maintenance mode: it has no config yet."""


@dataclass(frozen=True)
class Configured:
    """Runs a config of this cluster."""

    config: str
    status: MachineStatus | None
    # The config of the next boot, if the node shows it.
    stored: str | None = None

    def __repr__(self) -> str:
        return f"Configured({self.status})"


@dataclass(frozen=True)
class Unreachable:
    """Does not answer, and why."""

    error: UnreachableError


State = InMaintenance | Configured | Unreachable

# Errors that resolve within moments: a young node whose clock is not set yet, a certificate that is
# being replaced, and a node that already has its new certificate but still rejects administrators
# as in maintenance mode.
UNSETTLED = (ClockError, PreconditionError, NotAuthorizedError)


class ForeignNodeError(TalopsError):
    """The node runs a config with another CA and presented a certificate of that CA."""


class Fleet:
    """Connections of one run, with an admin certificate issued by the cluster's own CA."""

    def __init__(self, bundle: Bundle) -> None:
        pair = pki.talos_client(bundle.os, ("os:admin",), datetime.now(UTC))
        self.credentials = Credentials(
            ca=_pem(bundle.trusted_os),
            certificate=_pem(pair.crt),
            key=Secret(_pem(pair.key.reveal())),
        )
        self._gate = asyncio.Semaphore(AT_ONCE)
        self._shared: dict[str, _Shared] = {}

    def talos(self, node: Node) -> Talos:
        """The calls to a node; callers that start at the same moment share one connection."""
        now, shared = time.monotonic(), self._shared.get(node.name)
        if shared is None or not shared.users or now - shared.since > MOMENT:
            shared = _Shared(Talos.connect(str(node.address), self.credentials).link, now)
            self._shared[node.name] = shared
        return shared.one_more()

    def fresh(self, node: Node) -> Talos:
        """A connection of its own: it proves that the node can be reached now."""
        return Talos.connect(str(node.address), self.credentials)

    def maintenance(self, node: Node) -> Talos:
        """Any machine may answer: nothing secret is sent over such a connection."""
        return Talos.connect(str(node.address), Maintenance())

    def candidate(self, node: Node) -> Talos:
        """The machine that answers in maintenance mode, over one connection that is not replaced:
        who proves to be the node by its first answers is who gets its config.
        """
        return Talos.connect(str(node.address), Maintenance(), once=True)

    async def look(self, node: Node) -> State:
        """The state of one node; a node of another cluster is an error, not a state."""
        async with self._gate, self.talos(node) as talos:
            try:
                config = await talos.resources.find(MACHINE_CONFIG, CONFIG_ID)
                stored = await talos.resources.find(MACHINE_CONFIG, STORED_CONFIG_ID)
                status = await talos.resources.find(MACHINE_STATUS, MACHINE_ID)
            except MaintenanceModeError:
                return InMaintenance()
            except UnreachableError as error:
                return Unreachable(error)
            except UNSETTLED as error:
                return Unreachable(UnreachableError(error.what, where=error.where, hint=error.hint))
            except (WrongCaError, ForeignCertificateError) as error:
                raise ForeignNodeError(
                    f"{node.name} belongs to another cluster: {error.what}",
                    where=str(node.address),
                    hint=(
                        "check its address in nodes.yaml; if it is the right node, restore the "
                        "secrets it was created with (talos/talsecret.sops.yaml), or reset the "
                        "node; if a CA was rotated elsewhere, pull its secrets"
                    ),
                ) from error
        return Configured(config or "", status, stored)

    async def has_etcd(self, planes: Sequence[Node]) -> bool:
        """Whether etcd was ever bootstrapped on one of these; one that does not answer may have it.

        Until it was, workers may not answer: Talos opens the API of a worker with a certificate
        that a control plane signs, and the worker may know control planes by the cluster's endpoint
        only, a VIP that needs etcd.
        """
        return any(await asyncio.gather(*map(self._has_etcd, planes)))

    async def _has_etcd(self, node: Node) -> bool:
        async with self._gate, self.talos(node) as talos:
            try:
                return await talos.files.exists(ETCD_DATA)
            except MaintenanceModeError:
                return False
            except TalopsError:
                return True

    async def look_at_all(self, nodes: Iterable[Node]) -> dict[str, State]:
        listed = list(nodes)
        states = await asyncio.gather(*(self.look(node) for node in listed))
        return {node.name: state for node, state in zip(listed, states, strict=True)}


class _Shared:
    """A connection that is closed with its last user."""

    def __init__(self, link: Link, since: float) -> None:
        self.link = link
        self.since = since
        self.users = 0

    def one_more(self) -> Talos:
        self.users += 1
        return _Borrowed(self)

    def one_less(self) -> None:
        self.users -= 1
        if not self.users:
            self.link.close()


class _Borrowed(Talos):
    def __init__(self, shared: _Shared) -> None:
        super().__init__(shared.link)
        self._shared: _Shared | None = shared

    def close(self) -> None:
        shared, self._shared = self._shared, None
        if shared:
            shared.one_less()


def all_answer(nodes: Sequence[Node], states: dict[str, State]) -> None:
    """Raise if any of the nodes did not answer."""
    silent = [(n, s) for n in nodes if isinstance(s := states[n.name], Unreachable)]
    if not silent:
        return
    names = ", ".join(node.name for node, _ in silent)
    node, first = silent[0]
    raise UnreachableError(
        f"no answer from {names}: {first.error.what}",
        where=str(node.address),
        hint="check the console of the node; talops infra plan shows whether its VM runs",
    )


@contextlib.contextmanager
def named(node: Node, hint: str) -> Iterator[None]:
    """Add the node's name and the next command to an error of a call."""
    try:
        yield
    except TalopsError as error:
        if error.where is None or node.name not in error.where:
            error.where = f"{node.name} ({error.where or node.address})"
        error.hint = error.hint or hint
        raise


def _pem(encoded: str) -> str:
    return base64.b64decode(encoded).decode()

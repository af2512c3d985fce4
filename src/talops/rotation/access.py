"""Credentials that prove one side of a rotation: signed by one CA, trusting only some."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from talops.kube.kubeconfig import Kubeconfig
from talops.machineconfig.secrets import pem, pki
from talops.machineconfig.secrets.rotating import Phase
from talops.redaction import Secret
from talops.talos.credentials import Credentials

if TYPE_CHECKING:
    from talops.machineconfig.secrets.pki import Pair
    from talops.machineconfig.secrets.rotating import Rotation

# A certificate that proves something is used at once, and never stored.
MOMENT = timedelta(hours=1)
PORT = 6443


@dataclass(frozen=True)
class Sides:
    """`client` must be accepted, `refused` must not be; `server` must have signed what answers."""

    client: Pair
    server: Pair
    refused: Pair | None = None


def sides(used: Pair, rotation: Rotation) -> Sides:
    """What proves that a node is in a phase."""
    if rotation.phase is Phase.ACCEPT:
        return Sides(client=rotation.other, server=used)
    if rotation.phase is Phase.ISSUE:
        return Sides(client=rotation.other, server=used)
    return Sides(client=used, server=used, refused=rotation.other)


def talos_credentials(client: Pair, server: Pair) -> Credentials:
    made = pki.talos_client(client, ("os:reader",), datetime.now(UTC), MOMENT)
    return Credentials(_text(server.crt), _text(made.crt), Secret(_text(made.key.reveal())))


def kubernetes_credentials(address: str, client: Pair, server: Pair) -> Kubeconfig:
    made = pki.kubernetes_admin(client, datetime.now(UTC), MOMENT)
    return Kubeconfig(
        server=f"https://{address}:{PORT}",
        context="rotation",
        ca=_text(server.crt),
        certificate=_text(made.crt),
        key=Secret(_text(made.key.reveal())),
    )


def _text(one_line: str) -> str:
    return pem.from_one_line(one_line).decode()

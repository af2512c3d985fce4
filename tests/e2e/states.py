"""A state server beside a lab, which can be killed and comes back, and an inventory for it."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

from tests.statestore.running import RestartingServer

from talops.redaction import Secret
from talops.statestore import users
from talops.statestore.stores import StoreAddress

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

USER = "e2e"


@contextlib.contextmanager
def remote_states(
    lab: Any, folder: Path, password: str = ""
) -> Iterator[tuple[RestartingServer, str]]:
    """The server and the address of the project in it; the lab's own CA vouches for it.

    With a password only the user `USER` is accepted.
    """
    chain = str(lab.world.authority.issue("states", ["127.0.0.1"]))
    store = StoreAddress(Secret(f"sqlite:{folder / 'states'}"))
    words = ["--tls-certificate", chain, "--tls-key", chain]
    if password:
        known = folder / "users.json"
        users.add(known, USER, password, read=(), write=("homelab/*",))
        words += ["--users", str(known)]
    server = RestartingServer(store, *words)
    try:
        url = f"https://127.0.0.1:{server.port}/homelab"
        with (lab.root / "cluster.yaml").open("a", encoding="utf-8") as file:
            file.write(f"state: {{type: http, url: '{url}', ca_file: lab-ca.pem}}\n")
        yield server, url
    finally:
        server.stop()

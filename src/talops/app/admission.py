"""What the user says about the machines of new nodes, checked against the inventory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from talops.errors import TalopsError
from talops.inventory.fields import FINGERPRINT
from talops.site.enrolment.admission import Admission

if TYPE_CHECKING:
    from collections.abc import Iterable

    from talops.inventory.model import Cluster


def admission(
    cluster: Cluster,
    accepted: Iterable[str] = (),
    reinstall: Iterable[str] = (),
    *,
    any_again: bool = False,
) -> Admission:
    """`accepted` are texts like NODE=KEY; a name that is not a node is an error."""
    keys: dict[str, str] = {}
    for text in accepted:
        name, _, key = text.partition("=")
        if not FINGERPRINT.fullmatch(key):
            raise TalopsError(
                f"{text!r} is not NODE=KEY",
                hint="copy it from the message of talops up; a key has 43 characters and one =",
            )
        keys[name] = key
    again = frozenset(reinstall)
    for name in sorted(again | set(keys)):
        if name not in cluster.node_names:
            raise TalopsError(
                f"this inventory does not have a node {name}",
                where="nodes.yaml",
                hint=f"existing nodes: {', '.join(cluster.node_names)}",
            )
    return Admission(keys, again, any_again)

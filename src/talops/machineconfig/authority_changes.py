"""CAs of a running node change in one direction, through a rotation. Pure.

Another checkout may have the secrets of before, or of an earlier phase. Which of two CAs is newer
tells: a newer one is never removed from a node, and an older one is never added again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cryptography import x509

from talops.machineconfig.secrets import pem
from talops.machineconfig.validation.view import View, at

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import datetime

    Document = dict[str, Any]

UNDONE = "a rotation would be undone; your copy of the secrets is older than the cluster"


@dataclass(frozen=True)
class Trust:
    """Certificates as text; `issuing` is empty on a worker of contract 1.14."""

    issuing: str
    accepted: frozenset[str]

    @property
    def all(self) -> frozenset[str]:
        return self.accepted | {self.issuing} if self.issuing else self.accepted


def talos_trust(documents: Sequence[Document]) -> Trust | None:
    view = View.of(documents)
    if view is None:
        return None
    machine = view.machine
    return Trust(_plain(at(machine, "ca.crt")), _plains(machine.get("acceptedCAs")))


def kubernetes_trust(documents: Sequence[Document]) -> Trust | None:
    view = View.of(documents)
    if view is None:
        return None
    cluster = view.cluster
    issuing, accepted = _plain(at(cluster, "ca.crt")), _plains(cluster.get("acceptedCAs"))
    for document in view.kind("KubeAPIServerCAConfig"):
        issuing = issuing or str(at(document, "issuingCA.cert") or "").strip()
        accepted |= {str(text).strip() for text in document.get("acceptedCAs") or []}
    return Trust(issuing, accepted)


def refused(before: Trust | None, after: Trust | None) -> str:
    """Why a node must not go from one to the other; empty if it may."""
    if before is None or after is None or not before.all:
        return ""
    if not before.all & after.all:
        return "different"
    if before.issuing and after.issuing and before.issuing != after.issuing:
        return "" if _forward(before, after) else "different"
    reference = max(map(_start, before.all & after.all))
    if any(_start(text) > reference for text in before.all - after.all):
        return "undone"
    # CAs of other organizations, which someone accepts by a patch, have other names.
    names = {_name(text) for text in before.all & after.all}
    back = [text for text in after.all - before.all if _start(text) <= reference]
    return "undone" if any(_name(text) in names for text in back) else ""


def _forward(before: Trust, after: Trust) -> bool:
    """The node accepts the new one already, and is to accept the old one still."""
    return (
        after.issuing in before.accepted
        and before.issuing in after.accepted
        and _start(after.issuing) >= _start(before.issuing)
    )


def _start(text: str) -> datetime:
    return x509.load_pem_x509_certificate(text.encode()).not_valid_before_utc


def _name(text: str) -> x509.Name:
    return x509.load_pem_x509_certificate(text.encode()).subject


def _plain(one_line: Any) -> str:
    return pem.from_one_line(str(one_line)).decode().strip() if one_line else ""


def _plains(accepted: Any) -> frozenset[str]:
    return frozenset(_plain(entry.get("crt")) for entry in accepted or [])


def changes(before: Sequence[Document], after: Sequence[Document]) -> Iterator[tuple[str, str]]:
    """(path, why) of every CA that must not change in this way."""
    for path, trust in (("machine.ca", talos_trust), ("cluster.ca", kubernetes_trust)):
        try:
            if why := refused(trust(before), trust(after)):
                yield path, why
        except ValueError:  # not a certificate: the validation says so
            yield path, "different"

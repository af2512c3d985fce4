"""What a release of Talos breaks on a node, as far as its config tells. Pure.

Most findings refuse the hop; the others are only shown.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from talops.machineconfig import yamltext
from talops.upgrades.versions import minor

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    Document = dict[str, Any]

CDI, NEW_ETCD = 13, 14
KERNEL_ARGUMENTS = "extraKernelArgs"
_LIFECYCLE = 13
_TAG = re.compile(r":v?([0-9]{1,5})\.([0-9]{1,5})[.0-9]*")
_OLDEST_ETCD = (3, 6)
_TLS_FLAGS = ("tls-cipher-suites", "tls-min-version")
_FIREWALL = ("NetworkRuleConfig", "NetworkDefaultActionConfig")


@dataclass(frozen=True)
class Move:
    """One node in one hop. `cmdline`: the arguments its kernel was started with."""

    name: str
    before: str
    to: str
    config: str
    controller: bool
    nvidia: bool = False
    cmdline: frozenset[str] = frozenset()

    def enters(self, release: int) -> bool:
        return minor(self.before) < release <= minor(self.to)


@dataclass(frozen=True)
class Breakage:
    """`refuses`: the hop must not begin before this is changed."""

    name: str
    what: str
    hint: str
    refuses: bool = True


def findings(move: Move) -> list[Breakage]:
    documents = [d for d in yamltext.load_all(move.config, where=move.name) if isinstance(d, dict)]
    return [found for rule in RULES for found in rule(move, documents)]


def _kernel_arguments(move: Move, documents: Sequence[Document]) -> Iterator[Breakage]:
    """Since 1.13, an upgrade writes the arguments of the image, and no others."""
    install = _main(documents, "machine").get("install") or {}
    given = [str(each) for each in install.get(KERNEL_ARGUMENTS) or []]
    lost = sorted({each for each in given if not each.startswith("-")} & move.cmdline)
    if minor(move.to) >= _LIFECYCLE and minor(move.before) >= _LIFECYCLE and lost:
        yield Breakage(
            move.name,
            f"it would boot without these kernel arguments: {' '.join(lost)}",
            "add them to the schematic (schematic_id of a schematic with extraKernelArgs) and "
            "remove machine.install.extraKernelArgs",
        )


def _old_etcd(move: Move, documents: Sequence[Document]) -> Iterator[Breakage]:
    image = str((_main(documents, "cluster").get("etcd") or {}).get("image") or "")
    found = _TAG.search(image)
    if not move.controller or not move.enters(NEW_ETCD) or not found:
        return
    if (int(found[1]), int(found[2])) < _OLDEST_ETCD:
        yield Breakage(
            move.name,
            f"its config pins {image}, but Talos 1.14 requires etcd 3.6",
            "remove cluster.etcd.image from the patches, or use etcd v3.6",
        )


def _etcd_ports(move: Move, documents: Sequence[Document]) -> Iterator[Breakage]:
    filtered = any(document.get("kind") in _FIREWALL for document in documents)
    if move.controller and move.enters(NEW_ETCD) and filtered:
        yield Breakage(
            move.name,
            "Talos 1.14 serves metrics and health of etcd on port 2383 instead of 2379",
            "allow port 2383 in the firewall documents, and change what scrapes etcd",
            refuses=False,
        )


def _tls(move: Move, documents: Sequence[Document]) -> Iterator[Breakage]:
    arguments = (_main(documents, "cluster").get("apiServer") or {}).get("extraArgs") or {}
    given = [flag for flag in _TLS_FLAGS if flag in arguments]
    if move.controller and move.enters(NEW_ETCD) and given:
        yield Breakage(
            move.name,
            f"Talos 1.14 requires TLS 1.3 for the API server, so {', '.join(given)} has no effect",
            "make sure that all clients support TLS 1.3",
            refuses=False,
        )


RULES: tuple[Callable[[Move, Sequence[Document]], Iterator[Breakage]], ...] = (
    _kernel_arguments,
    _old_etcd,
    _etcd_ports,
    _tls,
)


def _main(documents: Sequence[Document], part: str) -> Document:
    """A part of the v1alpha1 document, which has no kind."""
    main = next((document for document in documents if "kind" not in document), {})
    return main.get(part) or {}

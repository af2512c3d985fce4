"""What the user says about machines that get a config."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True)
class Admission:
    """What the user said: `accepted` maps nodes to the keys of their machines; `reinstall` are the
    nodes that may get a config again, `any_again` means all of them. `restores_etcd`: control
    planes get their configs although an etcd without a majority cannot admit them.
    """

    accepted: Mapping[str, str] = field(default_factory=dict)
    reinstall: frozenset[str] = frozenset()
    any_again: bool = False
    restores_etcd: bool = False

    def again(self, name: str) -> bool:
        return self.any_again or name in self.reinstall


NOTHING_SAID = Admission()

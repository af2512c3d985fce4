"""What an API method knows about its caller."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from talops.lab.talos.machine.node import Node


@dataclass(frozen=True)
class Call:
    """The node that answers, which may differ from the one that was called."""

    node: Node
    roles: frozenset[str]


class Api:
    """The base of all API classes: they live for one call."""

    SERVICE = ""

    def __init__(self, call: Call) -> None:
        self.call = call
        self.node = call.node

    @staticmethod
    def new_actor() -> str:
        return str(uuid.uuid4())

"""One API call, as its handler sees it."""

from __future__ import annotations

import gzip
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from talops.lab.proxmox.errors import denied

if TYPE_CHECKING:
    from collections.abc import Callable

    from talops.lab.proxmox.hypervisor import Hypervisor

ROOT = "root@pam"


@dataclass(frozen=True)
class Upload:
    filename: str
    content: bytes


@dataclass(frozen=True)
class RawJson:
    """The whole answer as cached JSON, so that repeated calls cost less."""

    text: bytes

    @cached_property
    def packed(self) -> bytes:
        """For callers that accept gzip, as all of ours do: a long list shrinks to a twentieth."""
        return gzip.compress(self.text, compresslevel=1, mtime=0)


@dataclass(frozen=True)
class Answer:
    """Data with the fields that Proxmox adds next to it: the total count, pending changes."""

    data: Any
    beside: dict[str, Any]


@dataclass(frozen=True)
class Call:
    """`user` is `user@realm` or `user@realm!token`; path parameters are in `params` too."""

    pve: Hypervisor
    user: str
    params: dict[str, Any]
    upload: Upload | None = None
    headers: dict[str, str] = field(default_factory=dict)

    @property
    def node(self) -> str:
        return str(self.params["node"])

    @property
    def vmid(self) -> int:
        return int(self.params["vmid"])

    @property
    def is_root(self) -> bool:
        """Logged in as root; a token of root does not count."""
        return self.user == ROOT

    def get(self, name: str, default: Any = None) -> Any:
        return self.params.get(name, default)

    def held(self, path: str) -> dict[str, int]:
        """The caller's privileges there; without a path only a login as root has any."""
        return self.pve.rights.privileges(self.user, path) if path or self.is_root else {}

    def may(self, path: str, *privileges: str, any_of: bool = False) -> bool:
        held = self.held(path)
        return (any if any_of else all)(name in held for name in privileges)

    def need(self, path: str, *privileges: str, any_of: bool = False) -> None:
        """Reject the call unless the caller has these privileges on this path."""
        held = self.held(path)
        if any_of:
            if not any(name in held for name in privileges):
                raise denied(f"{path}, {'|'.join(privileges)}")
            return
        for name in privileges:
            if name not in held:
                raise denied(f"{path}, {name}")

    def start(
        self, kind: str, subject: str, work: Any, undo: Callable[[], None] = lambda: None
    ) -> str:
        """Run `work(task)` as a task on this call's node; its UPID."""
        return self.pve.tasks.start(self.node, kind, subject, self.user, work, undo)

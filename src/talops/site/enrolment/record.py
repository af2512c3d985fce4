"""The record of the machines that are the nodes: which one got a config, and by what it is known.

It lives in `.talops/`, so a fresh clone has none; what a node answers under the cluster's own CA
fills it again. It holds no secret.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from talops.errors import TalopsError
from talops.files import PRIVATE, write_atomic

if TYPE_CHECKING:
    from collections.abc import Collection
    from pathlib import Path

RECORD = ".talops/nodes.json"


@dataclass(frozen=True)
class Entry:
    """`configured`: it runs its config, and talops has not wiped it since.

    `accepted`: the fingerprint of its maintenance mode that the user confirmed.
    """

    uuid: str = ""
    macs: tuple[str, ...] = ()
    configured: bool = False
    accepted: str = ""
    time: str = ""


class EnrolmentRecord:
    def __init__(self, root: Path) -> None:
        self._path = root / RECORD

    def entry(self, name: str) -> Entry | None:
        """None: nothing is recorded of this node."""
        return self._read().get(name)

    def known(self, name: str) -> Entry:
        return self.entry(name) or Entry()

    def uuids(self) -> dict[str, str]:
        """Node → the UUID of the machine that got its config."""
        return {name: entry.uuid for name, entry in self._read().items() if entry.uuid}

    def begin(self, name: str, uuid: str, macs: tuple[str, ...]) -> None:
        """The machine is about to get the config; until it runs it, it may get it again."""
        self._update(name, uuid=uuid, macs=macs, configured=False)

    def configured(self, name: str) -> None:
        """The machine runs its config and proved it with a certificate of the cluster."""
        self._update(name, configured=True)

    def introduce(self, name: str, uuid: str, macs: tuple[str, ...]) -> None:
        """A node that runs its config already, and reported this with the cluster's certificate."""
        self._update(name, uuid=uuid, macs=macs, configured=True)

    def accept(self, name: str, fingerprint: str) -> None:
        self._update(name, accepted=fingerprint)

    def wiped(self, name: str) -> None:
        """A reset by talops: the same machine may get a config again."""
        if name in self._read():
            self._update(name, configured=False, accepted="")

    def forget(self, names: Collection[str]) -> None:
        """Their machines were removed permanently: the next ones are different machines."""
        found = self._read()
        left = {name: entry for name, entry in found.items() if name not in names}
        if left != found:
            self._write(left)

    def _update(self, name: str, **more: object) -> None:
        found = self._read()
        before = found.get(name, Entry())
        after = replace(before, **more)  # type: ignore[arg-type]  # fields of Entry
        if after != before:
            now = datetime.now(UTC).isoformat(timespec="seconds")
            self._write({**found, name: replace(after, time=now)})

    def _read(self) -> dict[str, Entry]:
        try:
            content = json.loads(self._path.read_text(encoding="utf-8"))
            return {
                str(name): Entry(
                    str(e.get("uuid", "")),
                    tuple(map(str, e.get("macs", ()))),
                    bool(e.get("configured")),
                    str(e.get("accepted", "")),
                    str(e.get("time", "")),
                )
                for name, e in content["nodes"].items()
            }
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise TalopsError(
                f"the record of the nodes cannot be read: {error}",
                where=str(self._path),
                hint="remove the file; then each node in maintenance mode must prove again which "
                "machine it is",
            ) from error

    def _write(self, entries: dict[str, Entry]) -> None:
        nodes = {name: asdict(entry) for name, entry in sorted(entries.items())}
        text = json.dumps({"version": 1, "nodes": nodes}, indent=2)
        write_atomic(self._path, text + "\n", mode=PRIVATE)

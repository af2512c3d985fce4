"""What must outlive a run, by node: beside shared states, where every clone of the repository sees
it, and otherwise in `.talops`.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from talops.errors import TalopsError
from talops.files import PRIVATE, write_atomic

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from talops.site.founding.shared import SharedRecord
    from talops.site.site import ClosedSite


class Remembered:
    """Node → a text. `what` is for messages; `lost`: what follows from a record that is removed."""

    def __init__(self, site: ClosedSite, name: str, what: str, lost: str) -> None:
        self._site = site
        self._name = name
        self._what = what
        self._lost = lost
        self._path = site.root / ".talops" / f"{name}.json"

    @property
    def place(self) -> str:
        shared = self._site.cluster.state.kind != "local"
        return f"{self._site.cluster.name}.{self._name}" if shared else str(self._path)

    async def read(self) -> dict[str, str]:
        """With what this directory recorded before the states were shared."""
        found = _parsed(self._local(), self._broken)
        shared = self._shared()
        return found if shared is None else found | _parsed(await shared.read(), self._broken)

    async def write(self, nodes: Mapping[str, str]) -> None:
        text = json.dumps({"version": 1, "nodes": dict(nodes)}, indent=2)
        shared = self._shared()
        if shared is not None:
            await shared.write(text if nodes else "")
            self._path.unlink(missing_ok=True)
        elif nodes:
            write_atomic(self._path, text + "\n", mode=PRIVATE)
        else:
            self._path.unlink(missing_ok=True)

    def _shared(self) -> SharedRecord | None:
        if self._site.cluster.state.kind == "local":
            return None
        from talops.site.founding.shared import SharedRecord
        from talops.site.state.backends import backend_of

        site = self._site
        name, output = f"{site.cluster.name}.{self._name}", self._name
        return SharedRecord(site.cluster.name, lambda: backend_of(site), name=name, output=output)

    def _local(self) -> str:
        try:
            return self._path.read_text(encoding="utf-8")
        except FileNotFoundError:
            return ""
        except (OSError, UnicodeDecodeError) as error:
            raise self._broken(error) from error

    def _broken(self, error: Exception) -> TalopsError:
        return TalopsError(
            f"the record of {self._what} cannot be read: {error}",
            where=self.place,
            hint=f"remove it if {self._lost}",
        )


def _parsed(text: str, broken: Callable[[Exception], TalopsError]) -> dict[str, str]:
    if not text:
        return {}
    try:
        return {str(name): str(value) for name, value in json.loads(text)["nodes"].items()}
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise broken(error) from error

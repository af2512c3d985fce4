"""Which Node was there when a replacement began: another one proves that it took place.

Kept until the run has ended, so that an interrupted replacement is finished and not repeated.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from talops.errors import TalopsError
from talops.files import PRIVATE, write_atomic

if TYPE_CHECKING:
    from pathlib import Path

RECORD = ".talops/replacing.json"


class Replacements:
    def __init__(self, root: Path) -> None:
        self._path = root / RECORD

    def begun(self, name: str) -> str | None:
        """The UID of its Node at that time, empty if it had none; None: not begun."""
        return self._read().get(name)

    def begin(self, name: str, uid: str) -> None:
        self._write({**self._read(), name: uid})

    def ended(self, name: str) -> None:
        found = self._read()
        if found.pop(name, None) is not None:
            self._write(found)

    def _read(self) -> dict[str, str]:
        try:
            content = json.loads(self._path.read_text(encoding="utf-8"))
            return {str(name): str(uid) for name, uid in content["nodes"].items()}
        except FileNotFoundError:
            return {}
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise TalopsError(
                f"the record of replacements cannot be read: {error}",
                where=str(self._path),
                hint="remove the file if no replacement was interrupted",
            ) from error

    def _write(self, nodes: dict[str, str]) -> None:
        text = json.dumps({"version": 1, "nodes": nodes}, indent=2)
        write_atomic(self._path, text + "\n", mode=PRIVATE)
